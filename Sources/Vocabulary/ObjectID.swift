package import FoundationEssentials

/// The id of a user: a random UUID made by the server, written in upper case (decision D16).
package struct ObjectID: Sendable, Hashable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Makes a UUID of random bytes (RFC 9562 §5.4).
    ///
    /// - Parameter bytes: At least 16.
    package init(random bytes: [UInt8]) {
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes.prefix(16)) }
        uuid.6 = uuid.6 & 0x0F | 0x40
        uuid.8 = uuid.8 & 0x3F | 0x80
        self.uuid = UUID(uuid: uuid)
    }

    /// Nil unless the text is a UUID with dashes, in either case.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 36, let uuid = UUID(uuidString: String(text)) else { return nil }
        self.uuid = uuid
    }

    package var description: String { uuid.uuidString }
}
