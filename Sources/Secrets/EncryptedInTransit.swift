package import Domain
package import Encodings

/// A value, such as the state of a pending login, that the service encrypts and gives to the client to keep.
///
/// Each ciphertext is encrypted for one application, or for operators. The client sends it back in a URL or a body. The
/// service itself stores nothing, so a client that begins very many logins cannot fill the service's storage.
package protocol EncryptedInTransit: Sendable {
    /// The name from which the encryption key for values of this type is derived; no other type may have the same name.
    ///
    /// So each type has a key of its own. A client cannot pass off the ciphertext of one type as that of another type.
    static var keyName: String { get }
    /// The expiry in Unix seconds: from this time on, the service refuses the value.
    var endsAt: Int64 { get }
    /// The value as JSON text, before encryption.
    var text: Secret { get }
    /// Reads the value from its decrypted JSON; nil if another version of the service wrote it in another format.
    init?(_ object: JSONObject)
}

extension EncryptedInTransit {
    package func encrypted(under keys: MasterKeys, for application: ApplicationID?) -> [UInt8] {
        Self.key(of: keys.current).encrypt(text, authenticating: Array((application?.text ?? "").utf8))
    }

    /// Decrypts and parses a value that a client sent back.
    ///
    /// Nil if the value has expired, or if it was encrypted for another application or under a key that is not in
    /// `keys`.
    package init?(encrypted: [UInt8], under keys: MasterKeys, for application: ApplicationID?, now: Int64) {
        let data = Array((application?.text ?? "").utf8)
        let plain = ([keys.current] + keys.previous).lazy
            .compactMap { Self.key(of: $0).open(encrypted, authenticating: data) }.first
        guard let plain, let object = try? JSONParser.parse(plain.reveal(), limits: .stored).object,
            let found = Self(object), now < found.endsAt
        else { return nil }
        self = found
    }

    private static func key(of master: MasterKey) -> EncryptionKey {
        EncryptionKey(key: master.derivedKey(for: keyName))
    }
}
