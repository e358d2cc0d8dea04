import FoundationEssentials
package import Providers
package import Secrets
package import Store
package import Vocabulary

/// A secret option as it stands among the stored options: `{"sealed", "keyId", "changed"}`.
///
/// Up to version 4 of the schema it was the text itself, which is taken until something is written in its place.
package struct StoredSecretOption {
    package let json: JSONValue

    /// - Returns: Nil where there is none.
    package init?(_ json: JSONValue?) {
        guard let json, !json.isNull else { return nil }
        self.json = json
    }

    package init(_ secret: SealedSecret, changed: Int64?) {
        json = .object([
            "sealed": .string(Base64URL.encode(secret.bytes)), "keyId": .string(secret.keyID),
            "changed": changed.map(JSONValue.integer) ?? .null,
        ])
    }

    /// Nil when it is the text itself, or nothing that we wrote.
    package var sealed: SealedSecret? {
        guard let text = json.object?["sealed"]?.string, let bytes = Base64URL.decode(text.utf8),
            let keyID = json.object?["keyId"]?.string
        else { return nil }
        return SealedSecret(bytes: bytes, keyID: keyID)
    }

    /// When somebody set it, milliseconds since 1970 UTC; nil when that is not known.
    package var changed: Int64? { json.object?["changed"]?.integer }

    /// As operators see it.
    package var shown: JSONValue {
        .object([
            "set": .bool(true), "changed": changed.map(JSONValue.integer) ?? .null,
            "keyId": sealed.map { .string($0.keyID) } ?? .null,
        ])
    }
}

extension StoredApplication {
    /// The secrets among the options of its providers.
    package func secretOptions(_ kinds: ProviderKinds) -> [StoredSecretOption] {
        providers.flatMap { name, provider in
            (kinds.named(provider.kind)?.secretOptions ?? []).compactMap { option in
                StoredSecretOption(provider.options.object?[option.name])
            }
        }
    }
}

extension ProviderKind {
    /// The members of stored options, with what the closure makes of each secret that is there in its place.
    package func members<Problem>(
        of options: JSONValue,
        replacingSecrets replacement: (SecretOption, StoredSecretOption) throws(Problem) -> JSONValue
    ) throws(Problem) -> [JSONObject.Member] {
        var members: [JSONObject.Member] = []
        for member in options.object?.members ?? [] {
            guard let option = secretOptions.first(where: { $0.name.hasSameBytes(as: member.key) }),
                let stored = StoredSecretOption(member.value)
            else {
                members.append(member)
                continue
            }
            members.append(JSONObject.Member(member.key, try replacement(option, stored)))
        }
        return members
    }
}

extension MasterKeys {
    /// The secret; nil when its key is not at hand or it does not open at the place.
    package func open(_ stored: StoredSecretOption, at place: MasterKey.Place) -> Secret? {
        stored.json.string.map { Secret($0) } ?? stored.sealed.flatMap { open($0, at: place) }
    }

    /// What is stored of a given secret: what there is when that is sealed and opens to the same, else the secret
    /// sealed.
    package func stored(
        _ secret: Secret,
        insteadOf stored: StoredSecretOption?,
        at place: MasterKey.Place,
        _ clock: WallClock
    ) -> StoredSecretOption {
        let sealed = seal(secret, for: place)
        guard let stored, open(stored, at: place)?.reveal().hasSameBytes(as: secret.reveal()) == true else {
            return StoredSecretOption(sealed, changed: clock.milliseconds)
        }
        return stored.sealed == nil ? StoredSecretOption(sealed, changed: stored.changed) : stored
    }
}
