import Secrets
package import Vocabulary

/// Entity tags: how they are written, and those of what has no revision.
package enum EntityTag {
    /// A tag as `ETag` and `If-Match` have it.
    package static func written(_ tag: String) -> String { "\"\(tag)\"" }

    /// The first 24 hex digits of SHA-256 over the value as JSON.
    ///
    /// The value holds what an operator's change may overwrite, and nothing that changes without an operator: a login between
    /// reading and changing must not make the change fail.
    package static func of(_ value: JSONValue) -> String {
        Hexadecimal.encode(Digest.sha256(value.text).prefix(12))
    }
}
