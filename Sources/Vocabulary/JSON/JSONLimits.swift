/// What a JSON text may hold before it is refused; every bound is checked on bytes, before any text is built.
package struct JSONLimits: Sendable {
    /// Bytes of the whole text.
    package var bytes: Int
    /// Objects and arrays inside each other.
    package var depth: Int
    /// Object members and array elements in the whole text.
    package var members: Int
    /// UTF-8 bytes of one key, as decoded.
    package var keyBytes: Int
    /// Whether keys are ASCII only.
    package var asciiKeys: Bool
    /// Whether an escape for NUL or for half of a surrogate pair is read as NUL; otherwise the whole text is refused.
    ///
    /// Whoever uses the value leaves out texts with a NUL.
    package var readsUnusableEscapes = false
    /// Wider bounds for what is inside the values of a user object; nil where all is bounded alike.
    package var inside: Inside?

    /// Bounds of what is inside the values of an object, such as values of JSON properties in a user object.
    package struct Inside: Sendable {
        /// How deep such an object is: 1 for the outermost, 2 for each element of a list.
        package var depth = 1
        /// Object members and array elements in all of these values of one object together.
        package var members: Int
        /// UTF-8 bytes of one key, as decoded; keys are any text.
        package var keyBytes: Int
        /// The one member of such an object that this is about; nil for all of them.
        package var member: String?
    }

    package init(bytes: Int, depth: Int, members: Int, keyBytes: Int, asciiKeys: Bool) {
        self.bytes = bytes
        self.depth = depth
        self.members = members
        self.keyBytes = keyBytes
        self.asciiKeys = asciiKeys
    }

    /// A request body: decision D5.
    package static let request = JSONLimits(bytes: 65_536, depth: 16, members: 512, keyBytes: 128, asciiKeys: true)

    /// A user object that a client writes, or hands back: properties have names as above, and what JSON properties hold
    /// is the app's own.
    package static let record = request(inside: nil)

    /// A request body of which one member is a user object.
    package static func request(withRecord member: String) -> JSONLimits { request(inside: member) }

    private static func request(inside member: String?) -> JSONLimits {
        var limits = request
        limits.inside = Inside(members: 10_000, keyBytes: 255, member: member)
        return limits
    }

    /// A reply of a provider: decision D8 for the size; a friends list has more members than a request ever needs.
    package static let reply = JSONLimits(bytes: 262_144, depth: 32, members: 16_384, keyBytes: 256, asciiKeys: false)

    /// A reply of a provider about a person: one value that cannot be stored keeps nobody from logging in.
    package static let profile: JSONLimits = {
        var limits = reply
        limits.readsUnusableEscapes = true
        return limits
    }()

    /// A value of a jsonb column: operators may have put anything there.
    package static let stored = JSONLimits(
        bytes: 16_777_216,
        depth: 128,
        members: 1_048_576,
        keyBytes: 65_536,
        asciiKeys: false
    )

    /// A document that an operator wrote.
    package static let document = JSONLimits(
        bytes: 4_194_304,
        depth: 32,
        members: 65_536,
        keyBytes: 128,
        asciiKeys: false
    )
}
