import Crypto
import FoundationEssentials

/// SHA-256 of a file, part by part: by it an import knows the file again.
package struct FileDigest {
    private var hash = SHA256()

    package init() {}

    package mutating func add(_ part: [UInt8]) {
        hash.update(data: part)
    }

    /// The digest of all parts.
    package var bytes: [UInt8] { Array(hash.finalize()) }
}
