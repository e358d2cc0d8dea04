package import FoundationEssentials

/// The id of a user: a random UUID made by the server, written in upper case (decision D16).
package struct ObjectID: Sendable, Hashable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Nil unless the text is a UUID with dashes, in either case.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 36, let uuid = UUID(uuidString: String(text)) else { return nil }
        self.uuid = uuid
    }

    package var description: String { uuid.uuidString }
}
