package import Vocabulary

/// Where what must not be guessed comes from: handed in, so that tests know what comes.
package struct RandomSource: Sendable {
    private let fill: @Sendable (_ count: Int) -> [UInt8]

    /// - Parameter fill: Gives so many bytes as it is asked for.
    package init(_ fill: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.fill = fill
    }

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

    package func bytes(_ count: Int) -> [UInt8] { fill(count) }

    /// The id of a user who is created, of a mail, or of whatever else gets one.
    package func objectID() -> ObjectID { ObjectID(random: fill(16)) }

    /// A session of which only the client will know the token.
    package func sessionToken() -> SessionToken { SessionToken(random: fill(32)) }
}
