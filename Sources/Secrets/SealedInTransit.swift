package import Vocabulary

/// What was decided and is not kept, sealed for an application, or for operators: it travels in addresses and bodies, and comes back.
///
/// Nothing is kept meanwhile: whoever begins logins without end takes none away from others.
package protocol SealedInTransit: Sendable {
    /// Of the key that is for this alone: anybody may have such texts sealed, and one kind does not pass for another.
    static var keyName: String { get }
    /// Unix seconds until which it is good.
    var endsAt: Int64 { get }
    /// As it is sealed.
    var text: Secret { get }
    /// Nil for what another version wrote.
    init?(_ object: JSONObject)
}

extension SealedInTransit {
    package func sealed(under keys: MasterKeys, for application: ApplicationID?) -> [UInt8] {
        Self.key(of: keys.current).seal(text, authenticating: Array((application?.text ?? "").utf8))
    }

    /// Nil for what we did not seal for this application, and for what is too old.
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
