import Applications
import Domain
import Encodings
import NIOConcurrencyHelpers
import Providers
import Secrets
import Store

/// The rotation of the master key for secret options, which are stored among the options of providers.
struct SecretOptionResealing: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let changes: ApplicationChanges

    /// Returns the number of secret options encrypted under each master key.
    func countByKey() async throws(Failure) -> [(keyID: String, count: Int)] {
        let options = try await store.configuration(changedAfter: 0).changed.flatMap { $0.secretOptions(kinds) }
        return Dictionary(grouping: options.compactMap(\.sealed?.keyID), by: \.self)
            .map { (keyID: $0.key, count: $0.value.count) }.sorted { $0.keyID < $1.keyID }
    }

    /// Re-encrypts secret options under the current master key, with one transaction per application.
    ///
    /// - Returns: The number of re-encrypted options.
    func reseal(by actor: Actor) async throws -> Int {
        let (masterKeys, kinds) = (masterKeys, kinds)
        var count = 0
        for application in try await store.configuration(changedAfter: 0).changed
        where application.secretOptions(kinds).contains(where: masterKeys.isToBeResealed) {
            // A retried transaction plans again; the last plan is the one carried out.
            let sealed = NIOLockedValueBox(0)
            _ = try await changes.change(application.id, by: actor) { stored, _ in
                guard let stored else { return [] }
                let steps = try stored.providers.compactMap { name, provider in
                    try masterKeys.resealing(of: stored, provider, named: name, kinds: kinds)
                }
                sealed.withLockedValue { $0 = steps.reduce(0) { $0 + $1.count } }
                return steps.map(\.step)
            }
            count += sealed.withLockedValue { $0 }
        }
        return count
    }
}

extension MasterKeys {
    /// Returns whether the option is not under the current key and can be re-encrypted.
    fileprivate func isToBeResealed(_ option: StoredSecretOption) -> Bool {
        guard let keyID = option.sealed?.keyID else { return true }
        return keyID != current.id && ids.contains(keyID)
    }

    /// Returns the step that re-encrypts a provider's secret options, and their number; nil when there are none.
    ///
    /// The secrets and the times of their last change stay the same.
    ///
    /// - Throws: `provider_misconfigured` for a secret under an available key that cannot be decrypted.
    fileprivate func resealing(
        of application: StoredApplication,
        _ provider: StoredApplication.Provider,
        named name: ProviderName,
        kinds: ProviderKinds
    ) throws(Failure) -> (step: PlannedChange, count: Int)? {
        guard let kind = kinds.named(provider.kind) else { return nil }
        var former: [String] = []
        let members = try kind.members(of: provider.options) { option, stored throws(Failure) in
            guard isToBeResealed(stored) else { return stored.json }
            let place = MasterKey.Place.secretOption(
                application: application.id,
                provider: name,
                option: option.name
            )
            guard let secret = open(stored, at: place) else {
                throw Failure(
                    .providerMisconfigured,
                    """
                    The \(option.name) at \(name) of \(application.id) does not open although its master key is at hand: it was changed \
                    by other means. Set it anew, then rotate again.
                    """
                )
            }
            former.append(stored.sealed?.keyID ?? "none")
            return StoredSecretOption(seal(secret, for: place), changed: stored.changed).json
        }
        guard !former.isEmpty else { return nil }
        let change = PlannedChange(
            .setProvider(
                name,
                kind: provider.kind,
                enabled: provider.enabled,
                options: .object(JSONObject(members))
            ),
            action: "secrets.reseal",
            target: nil,
            from: .object(["keyIds": .array(Set(former).sorted().map(JSONValue.string))]),
            to: .object(["keyId": .string(current.id), "secrets": .integer(Int64(former.count))])
        )
        return (change, former.count)
    }
}
