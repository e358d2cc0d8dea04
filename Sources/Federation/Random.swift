import FoundationEssentials
import Vocabulary

/// What must not be guessed, from the operating system's generator.
enum Random {
    static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }

    /// The id of a user who is created.
    static func objectID() -> ObjectID {
        // UUID() opens, reads and closes a file each time.
        var generator = SystemRandomNumberGenerator()
        return ObjectID(.random(using: &generator))
    }
}
