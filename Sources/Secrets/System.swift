import FoundationEssentials
package import Vocabulary

extension RandomSource {
    /// The operating system's generator.
    package static let system = RandomSource { count in
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}

extension WallClock {
    /// The operating system's clock.
    package static let system = WallClock { Int64(Date().timeIntervalSince1970 * 1000) }
}
