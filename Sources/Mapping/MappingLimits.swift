/// The limits of mapping documents; `docs/mapping.md` lists them for operators.
enum MappingLimits {
    static let storedEntries = 256
    static let clientEntries = 64
    static let pathBytes = 128
    static let pathSegments = 8
    static let templatePaths = 16
    /// The UTF-8 bytes of each template, separator, and key or value of a lookup.
    static let textBytes = 1024
    /// The bytes of a default as JSON text.
    static let defaultBytes = 4096
    static let transforms = 16
    static let lookupRows = 512
    static let datePatternBytes = 32
    /// The UTF-8 bytes of texts in a profile: of a line, and of a web address.
    static let lineBytes = 1024
    static let addressBytes = 4096
    /// The bytes of a text in a property, the same as for clients.
    static let textValueBytes = 65_536
    /// The bytes of a JSON value as PostgreSQL writes it, enough for the largest response of a provider.
    static let documentBytes = 262_144
    /// The new property names that clients may add to one application (decision D4).
    static let dynamicNames = 100
}
