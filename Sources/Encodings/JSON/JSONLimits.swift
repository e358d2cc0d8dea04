/// The limits for a JSON text; each is checked on bytes, before any text is built.
package struct JSONLimits: Sendable {
    /// The most bytes of the whole text.
    package var bytes: Int
    /// The deepest nesting of objects and arrays.
    package var depth: Int
    /// The most object members and array elements in the whole text.
    package var members: Int
    /// The most UTF-8 bytes of a decoded key.
    package var keyBytes: Int
    /// Whether keys must be ASCII.
    package var asciiKeys: Bool
    /// Whether an escape for NUL or for a lone surrogate is read as NUL; otherwise the whole text is refused.
    ///
    /// The code that uses the value leaves out texts with a NUL.
    package var readsUnusableEscapes = false
    /// Whether an escape for NUL is read, although a lone surrogate is refused.
    package var readsEscapedNUL = false
    /// Wider limits for the contents of a user object's values; nil if the same limits apply to the whole text.
    package var inside: Inside?

    /// Limits for the contents of an object's values, such as values of JSON properties in a user object.
    package struct Inside: Sendable {
        /// The depth of the object: 1 for the outermost value, 2 for each element of a list.
        package var depth = 1
        /// The most object members and array elements in all of these values of one object together.
        package var members: Int
        /// The most UTF-8 bytes of a decoded key; a key may be any text.
        package var keyBytes: Int
        /// The only member of the object that these limits apply to; nil for all members.
        package var member: String?
    }

    package init(bytes: Int, depth: Int, members: Int, keyBytes: Int, asciiKeys: Bool) {
        self.bytes = bytes
        self.depth = depth
        self.members = members
        self.keyBytes = keyBytes
        self.asciiKeys = asciiKeys
    }

    /// The limits for a request body: decision D5.
    package static let request = JSONLimits(bytes: 65_536, depth: 16, members: 512, keyBytes: 128, asciiKeys: true)

    /// The limits for a user object that a client writes or returns.
    ///
    /// Names of properties have the limits of ``request``; the contents of JSON properties are the application's own.
    package static let record = request(inside: nil)

    /// Returns the limits for a request body with a user object as one member.
    package static func request(withRecord member: String) -> JSONLimits { request(inside: member) }

    private static func request(inside member: String?) -> JSONLimits {
        var limits = request
        limits.inside = Inside(members: 10_000, keyBytes: 255, member: member)
        return limits
    }

    /// The limits for a provider's response, of at most the size in decision D8.
    ///
    /// A friends list has more members than any request.
    package static let reply = JSONLimits(bytes: 262_144, depth: 32, members: 16_384, keyBytes: 256, asciiKeys: false)

    /// The limits for a provider's response with a profile: a value that cannot be stored must not prevent a login.
    package static let profile: JSONLimits = {
        var limits = reply
        limits.readsUnusableEscapes = true
        return limits
    }()

    /// The limits for a value of a jsonb column, in which operators may have stored anything.
    package static let stored = JSONLimits(
        bytes: 16_777_216,
        depth: 128,
        members: 1_048_576,
        keyBytes: 65_536,
        asciiKeys: false
    )

    /// The limits for a document that an operator wrote.
    package static let document = JSONLimits(
        bytes: 4_194_304,
        depth: 32,
        members: 65_536,
        keyBytes: 128,
        asciiKeys: false
    )
}
