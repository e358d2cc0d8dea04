import Applications
import Domain
import Encodings
import NIOConcurrencyHelpers
import Providers
import Secrets
import Store

/// Encrypts the secret options of providers again when the master key is rotated.
///
/// Secret options are stored among the other options of a provider. Each of them is encrypted separately.
struct SecretOptionReencryption: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let changes: ApplicationChanges

    /// Returns the number of secret options that each master key encrypts.
    func countByKey() async throws(Failure) -> [(keyID: String, count: Int)] {
        let options = try await store.configuration(changedAfter: 0).changed.flatMap { $0.secretOptions(kinds) }
        return Dictionary(grouping: options.compactMap(\.encrypted?.keyID), by: \.self)
            .map { (keyID: $0.key, count: $0.value.count) }.sorted { $0.keyID < $1.keyID }
    }

    /// Encrypts secret options of providers again, under the current master key.
    ///
    /// It changes each application in a transaction of its own.
    ///
    /// - Returns: The number of options that were encrypted again.
    func reencrypt(by actor: ChangeAuthor) async throws -> Int {
        let (masterKeys, kinds) = (masterKeys, kinds)
        var count = 0
        for application in try await store.configuration(changedAfter: 0).changed
        where application.secretOptions(kinds).contains(where: masterKeys.isToBeReencrypted) {
            // A repeated transaction makes a new plan. The last plan is the one that is carried out.
            let encrypted = NIOLockedValueBox(0)
            _ = try await changes.change(application.id, by: actor) { stored, _ in
                guard let stored else { return [] }
                let steps = try stored.providers.compactMap { name, provider in
                    try masterKeys.reencryption(of: stored, provider, named: name, kinds: kinds)
                }
                encrypted.withLockedValue { $0 = steps.reduce(0) { $0 + $1.count } }
                return steps.map(\.step)
            }
            count += encrypted.withLockedValue { $0 }
        }
        return count
    }
}

extension MasterKeys {
    /// Returns whether a rotation encrypts the option again: it is plain text, or encrypted with an available master
    /// key that is not the current one.
    fileprivate func isToBeReencrypted(_ option: StoredSecretOption) -> Bool {
        guard let keyID = option.encrypted?.keyID else { return true }
        return keyID != current.id && ids.contains(keyID)
    }

    /// Returns the step that encrypts a provider's secret options again, and the number of these options.
    ///
    /// If no option needs it, returns nil. The secrets and the times of their last change stay the same.
    ///
    /// - Throws: `provider_misconfigured` for a secret that its master key does not decrypt, although the key is
    ///   available.
    fileprivate func reencryption(
        of application: StoredApplication,
        _ provider: StoredApplication.Provider,
        named name: ProviderName,
        kinds: ProviderKinds
    ) throws(Failure) -> (step: PlannedChange, count: Int)? {
        guard let kind = kinds.named(provider.kind) else { return nil }
        var former: [String] = []
        let members = try kind.members(of: provider.options) { option, stored throws(Failure) in
            guard isToBeReencrypted(stored) else { return stored.json }
            let place = MasterKey.Place.secretOption(
                application: application.id,
                provider: name,
                option: option.name
            )
            guard let secret = open(stored, at: place) else {
                throw Failure(
                    .providerMisconfigured,
                    """
                    The \(option.name) of the provider \(name) of \(application.id) cannot be decrypted with its \
                    master key, because it was changed outside the service. Set it again, then rotate again.
                    """
                )
            }
            former.append(stored.encrypted?.keyID ?? "none")
            return StoredSecretOption(encrypt(secret, for: place), changed: stored.changed).json
        }
        guard !former.isEmpty else { return nil }
        let change = PlannedChange(
            .setProvider(
                name,
                kind: provider.kind,
                enabled: provider.enabled,
                options: .object(JSONObject(members))
            ),
            action: "secrets.reencrypt",
            target: nil,
            from: .object(["keyIds": .array(Set(former).sorted().map(JSONValue.string))]),
            to: .object(["keyId": .string(current.id), "secrets": .integer(Int64(former.count))])
        )
        return (change, former.count)
    }
}
