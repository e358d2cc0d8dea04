/// The limits for a JSON text.
///
/// The parser checks these limits on the received bytes, before it creates any string.
package struct JSONLimits: Sendable {
    /// The maximum number of bytes in the whole text.
    package var bytes: Int
    /// The maximum depth of nested objects and arrays.
    package var depth: Int
    /// The maximum number of object members and array elements in the whole text.
    package var members: Int
    /// The maximum number of UTF-8 bytes in a decoded key.
    package var keyBytes: Int
    /// Whether keys must be ASCII.
    package var asciiKeys: Bool
    /// Whether the parser accepts an escape for NUL or for a lone surrogate, and returns NUL in its place.
    ///
    /// If false, the parser refuses the whole text. The code that reads the parsed value ignores strings that contain
    /// NUL.
    package var readsUnusableEscapes = false
    /// Whether the parser accepts an escape for NUL, and still refuses a lone surrogate.
    package var readsEscapedNUL = false
    /// Wider limits for the contents of a user object's values.
    ///
    /// Nil if the same limits apply to the whole text.
    package var inside: Inside?

    /// Limits for the contents of an object's values, such as the values of JSON properties in a user object.
    package struct Inside: Sendable {
        /// The nesting depth of the object whose values get these limits: 1 for the outermost value, 2 for an element
        /// of a list.
        package var depth = 1
        /// The maximum number of object members and array elements in all these values of one object together.
        package var members: Int
        /// The maximum number of UTF-8 bytes in a decoded key.
        ///
        /// A key may be any text.
        package var keyBytes: Int
        /// The only member of the object to which these limits apply; nil for all members.
        package var member: String?
    }

    package init(bytes: Int, depth: Int, members: Int, keyBytes: Int, asciiKeys: Bool) {
        self.bytes = bytes
        self.depth = depth
        self.members = members
        self.keyBytes = keyBytes
        self.asciiKeys = asciiKeys
    }

    /// The limits for a request body (decision D5).
    package static let request = JSONLimits(bytes: 65_536, depth: 16, members: 512, keyBytes: 128, asciiKeys: true)

    /// The limits for a user object that a client writes or sends back.
    ///
    /// The names of properties have the limits of ``request``. The contents of JSON properties have wider limits, since
    /// the application decides about them.
    package static let record = request(inside: nil)

    /// Returns the limits for a request body that has a user object as one of its members.
    package static func request(withRecord member: String) -> JSONLimits { request(inside: member) }

    private static func request(inside member: String?) -> JSONLimits {
        var limits = request
        limits.inside = Inside(members: 10_000, keyBytes: 255, member: member)
        return limits
    }

    /// The limits for a provider's response.
    ///
    /// Decision D8 sets the maximum size. A list of friends has more members than any request.
    package static let reply = JSONLimits(bytes: 262_144, depth: 32, members: 16_384, keyBytes: 256, asciiKeys: false)

    /// The limits for a provider's response with a profile.
    ///
    /// The parser accepts escapes that the database cannot store, so that such a text does not prevent a login.
    package static let profile: JSONLimits = {
        var limits = reply
        limits.readsUnusableEscapes = true
        return limits
    }()

    /// The limits for a value of a jsonb column.
    ///
    /// Operators may have stored any value there.
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
