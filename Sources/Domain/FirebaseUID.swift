import Encodings

/// The id of a user for clients of Firebase, if it is not the object id.
package struct FirebaseUID: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates a uid; nil unless the text is 1 to 128 bytes without control characters.
    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    /// Compares bytes: two spellings of one text in Unicode are two uids.
    package static func == (one: FirebaseUID, other: FirebaseUID) -> Bool { one.text.hasSameBytes(as: other.text) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }

    /// The object id that this text spells; nil if the text is no object id in the form of the service.
    ///
    /// Clients of Firebase know a user by the object id if no user has it as a uid.
    package var objectID: ObjectID? {
        guard let id = ObjectID(text), id.description.hasSameBytes(as: text) else { return nil }
        return id
    }
}
