/// Where what must not be guessed comes from: handed in, so that tests know what comes.
///
/// What only spreads pauses and orders, so that those who met do not meet again, has the system's generator.
package struct RandomSource: Sendable {
    private let fill: @Sendable (_ count: Int) -> [UInt8]

    /// - Parameter fill: Gives so many bytes as it is asked for.
    package init(_ fill: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.fill = fill
    }

    package func bytes(_ count: Int) -> [UInt8] { fill(count) }

    /// The id of a user who is created, of a mail, or of whatever else gets one.
    package func objectID() -> ObjectID { ObjectID(random: fill(16)) }

    /// A session of which only the client will know the token.
    package func sessionToken() -> SessionToken { SessionToken(random: fill(32)) }
}
