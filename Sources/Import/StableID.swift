import Crypto
package import Domain
import FoundationEssentials

extension ObjectID {
    /// Creates the id of a user of another system.
    ///
    /// The same user always gets the same id, so a repeated import adds no user.
    ///
    /// The id is a UUID of version 8 from the SHA-256 of a text (RFC 9562 §5.8 and appendix B.2). Different users
    /// always have different texts, since neither an application's id nor a source's name contains a line break.
    package init(of id: String, at source: ImportSource, in application: ApplicationID) {
        let name = "\(application.text)\n\(source.rawValue)\n\(id)"
        var hash = SHA256()
        hash.update(data: Self.namespace)
        hash.update(data: Array(name.utf8))
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: Array(hash.finalize().prefix(16))) }
        uuid.6 = uuid.6 & 0x0F | 0x80
        uuid.8 = uuid.8 & 0x3F | 0x80
        self.init(UUID(uuid: uuid))
    }

    /// A random namespace that is used only for these ids.
    private static let namespace: [UInt8] = [
        0x6B, 0x1D, 0x9C, 0x42, 0x0E, 0x57, 0x4F, 0xA3, 0x9D, 0x81, 0x3C, 0x5A, 0xE6, 0x70, 0x28, 0xB4,
    ]
}
