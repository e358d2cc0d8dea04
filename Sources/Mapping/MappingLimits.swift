/// The bounds of mapping documents; `docs/mapping.md` lists them for operators.
enum MappingLimits {
    static let storedEntries = 256
    static let clientEntries = 64
    static let pathBytes = 128
    static let pathSegments = 8
    static let templatePaths = 16
    /// Templates, separators, keys and values of lookups: UTF-8 bytes of each.
    static let textBytes = 1024
    /// A default as JSON text.
    static let defaultBytes = 4096
    static let transforms = 16
    static let lookupRows = 512
    static let datePatternBytes = 32
    /// Texts of a profile: UTF-8 bytes of a line and of an address of the web.
    static let lineBytes = 1024
    static let addressBytes = 4096
    /// A text in a property: as much as a client may write.
    static let textValueBytes = 65_536
    /// A value of type JSON as PostgreSQL writes it: what fills the largest reply of a provider.
    static let documentBytes = 262_144
    /// New property names that clients may bring into one application (decision D4).
    static let dynamicNames = 100
}
