/// The limits of mapping documents; `docs/mapping.md` lists them for operators.
enum MappingLimits {
    static let storedEntries = 256
    static let clientEntries = 64
    static let pathBytes = 128
    static let pathSegments = 8
    static let templatePaths = 16
    /// The maximum UTF-8 bytes of each template, each separator, and each key or value of a lookup.
    static let textBytes = 1024
    /// The maximum bytes of an entry's default value as JSON text.
    static let defaultBytes = 4096
    static let transforms = 16
    static let lookupRows = 512
    static let datePatternBytes = 32
    /// The maximum UTF-8 bytes of a one-line text in a profile.
    static let lineBytes = 1024
    /// The maximum UTF-8 bytes of a web address in a profile.
    static let addressBytes = 4096
    /// The maximum UTF-8 bytes of a text in a property, whether it comes from a profile or from a client.
    static let textValueBytes = 65_536
    /// The maximum bytes of a JSON value as PostgreSQL writes it, enough for the largest response of a provider.
    static let documentBytes = 262_144
    /// The maximum number of undeclared properties that clients may add to one application (decision D4).
    static let dynamicNames = 100
}
