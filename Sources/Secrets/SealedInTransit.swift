package import Domain
package import Encodings

/// A decision that is encrypted for an application or for operators, and not stored.
///
/// The ciphertext travels in addresses and bodies, and comes back. Nothing is stored meanwhile: a client that begins
/// logins without end does not exhaust those of others.
package protocol SealedInTransit: Sendable {
    /// The name of the derived key, which must be used for this type only.
    ///
    /// Anybody can have such texts encrypted, and one type must not be accepted as another.
    static var keyName: String { get }
    /// The expiry in Unix seconds.
    var endsAt: Int64 { get }
    /// The plaintext.
    var text: Secret { get }
    /// Parses a decrypted object; nil for a format of another version.
    init?(_ object: JSONObject)
}

extension SealedInTransit {
    package func sealed(under keys: MasterKeys, for application: ApplicationID?) -> [UInt8] {
        Self.key(of: keys.current).seal(text, authenticating: Array((application?.text ?? "").utf8))
    }

    /// Decrypts and parses; nil for a text that we did not encrypt for this application, and for an expired one.
    package init?(sealed: [UInt8], under keys: MasterKeys, for application: ApplicationID?, now: Int64) {
        let data = Array((application?.text ?? "").utf8)
        let plain = ([keys.current] + keys.previous).lazy
            .compactMap { Self.key(of: $0).open(sealed, authenticating: data) }.first
        guard let plain, let object = try? JSONParser.parse(plain.reveal(), limits: .stored).object,
            let found = Self(object), now < found.endsAt
        else { return nil }
        self = found
    }

    private static func key(of master: MasterKey) -> SealingKey { SealingKey(key: master.derivedKey(for: keyName)) }
}
