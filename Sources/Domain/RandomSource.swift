/// Creates values that nobody can guess.
///
/// In tests, it returns known values. Random delays between retries may be guessed. They come from the generator of the
/// operating system, not from here.
package struct RandomSource: Sendable {
    private let fill: @Sendable (_ count: Int) -> [UInt8]

    /// - Parameter fill: Returns the requested number of bytes.
    package init(_ fill: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.fill = fill
    }

    package func bytes(_ count: Int) -> [UInt8] { fill(count) }

    /// Returns a new random id for a user, a mail or another object.
    package func objectID() -> ObjectID { ObjectID(random: fill(16)) }

    /// Returns a session token that only the client will know.
    package func sessionToken() -> SessionToken { SessionToken(random: fill(32)) }

    /// The operating system's generator of random bytes.
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
