package import Domain
package import Encodings

/// A state, such as a pending login, that the service encrypts and hands to the client instead of storing it.
///
/// Each ciphertext belongs to one application or to operators. The client sends it back in a URL or a body. Since
/// nothing is stored, a client that begins logins without end takes no storage from other logins.
package protocol EncryptedInTransit: Sendable {
    /// The name from which the encryption key for values of this type is derived; no other type may have the same name.
    ///
    /// Any client can get a ciphertext of one type. Since each type has a key of its own, no other type accepts that
    /// ciphertext.
    static var keyName: String { get }
    /// The expiry in Unix seconds.
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
    /// Nil if the value has expired, or was not encrypted for this application under one of the keys.
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
