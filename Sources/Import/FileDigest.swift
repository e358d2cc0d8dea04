import Crypto
import FoundationEssentials

/// The SHA-256 of a file, computed in parts.
///
/// By this digest, an import recognizes a file that was imported before.
package struct FileDigest {
    private var hash = SHA256()

    package init() {}

    package mutating func add(_ part: [UInt8]) {
        hash.update(data: part)
    }

    /// Returns the digest of a file in memory.
    package static func digest(of file: [UInt8]) -> [UInt8] {
        var digest = FileDigest()
        digest.add(file)
        return digest.bytes
    }

    /// The digest of all parts.
    package var bytes: [UInt8] { Array(hash.finalize()) }
}
