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
    /// New property names that clients may bring into one application (decision D4).
    static let dynamicNames = 100
}
