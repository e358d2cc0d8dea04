package import Domain
package import Encodings
import FoundationEssentials
package import Providers
package import Secrets
package import Store

/// The stored form of a secret option: `{"encrypted", "keyId", "changed"}`.
///
/// Up to schema version 4 the stored value was the plain text. A plain text is accepted until the option is written
/// again.
package struct StoredSecretOption {
    package let json: JSONValue

    /// Reads the stored value of a secret option; nil for an absent value.
    package init?(_ json: JSONValue?) {
        guard let json, !json.isNull else { return nil }
        self.json = json
    }

    package init(_ secret: EncryptedSecret, changed: Int64?) {
        json = .object([
            "sealed": .string(Base64URL.encode(secret.bytes)), "keyId": .string(secret.keyID),
            "changed": changed.map(JSONValue.integer) ?? .null,
        ])
    }

    /// The encrypted secret; nil for a plain text, or a value that the service did not write.
    package var encrypted: EncryptedSecret? {
        guard let text = json.object?["sealed"]?.string, let bytes = Base64URL.decode(text.utf8),
            let keyID = json.object?["keyId"]?.string
        else { return nil }
        return EncryptedSecret(bytes: bytes, keyID: keyID)
    }

    /// When the secret was set, in milliseconds since 1970 UTC; nil when unknown.
    package var changed: Int64? { json.object?["changed"]?.integer }

    /// The secret option as operators see it: without the secret, with the time of its last change and the id of its
    /// master key.
    package var shown: JSONValue {
        .object([
            "set": .bool(true), "changed": changed.map(JSONValue.integer) ?? .null,
            "keyId": encrypted.map { .string($0.keyID) } ?? .null,
        ])
    }
}

extension StoredApplication {
    /// Returns the secret options of all providers.
    package func secretOptions(_ kinds: ProviderKinds) -> [StoredSecretOption] {
        providers.flatMap { name, provider in
            (kinds.named(provider.kind)?.secretOptions ?? []).compactMap { option in
                StoredSecretOption(provider.options.object?[option.name])
            }
        }
    }
}

extension ProviderKind {
    /// Returns the members of a provider's stored options, with every secret replaced.
    ///
    /// The closure `replacement` returns the new value for each secret.
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
    /// Returns the decrypted secret; nil if its master key is missing, or if it was encrypted for another option or
    /// application.
    package func open(_ stored: StoredSecretOption, at place: MasterKey.Place) -> Secret? {
        stored.json.string.map { Secret($0) } ?? stored.encrypted.flatMap { open($0, at: place) }
    }

    /// Encrypts a new value of a secret option, to replace the stored value.
    ///
    /// If the stored value already encrypts the same secret, returns the stored value unchanged. If the stored value is
    /// the same secret as a plain text, encrypts it and keeps the time of the last change.
    package func stored(
        _ secret: Secret,
        insteadOf stored: StoredSecretOption?,
        at place: MasterKey.Place,
        _ clock: WallClock
    ) -> StoredSecretOption {
        let encrypted = encrypt(secret, for: place)
        guard let stored, open(stored, at: place)?.reveal().hasSameBytes(as: secret.reveal()) == true else {
            return StoredSecretOption(encrypted, changed: clock.milliseconds)
        }
        return stored.encrypted == nil ? StoredSecretOption(encrypted, changed: stored.changed) : stored
    }
}
