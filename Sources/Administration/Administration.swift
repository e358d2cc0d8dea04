// Administration — all that operators do.
//
// It owns applications and their parts as resources and as documents, the difference between what is stored and what is
// wanted, people as operators see them, operators and their tokens, previews, the audit log, and the rotation of keys.
//
// It must not know of HTTP or of the command line, nor of any provider beyond its kind and capabilities.

package import Applications
package import Secrets
package import Providers
package import Vocabulary
package import Store

/// Everything that operators do, one extension a subject; the administration API and the command line are two faces of
/// it.
///
/// Resources come and go as JSON: what the command line prints with `--json` is what the API answers. Whoever calls has
/// established that the actor may do it.
package struct Administration: Sendable {
    /// Works on connections of its own, so that a slow question of an operator never holds up a login.
    let store: Store
    /// Answers who calls, by connections that no slow question of an operator occupies.
    let operators: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    /// The copy of the configuration by which this process serves; nil in one that serves nobody.
    let directory: ApplicationDirectory?
    let banKey: BanKey
    let clock: WallClock
    let random: RandomSource

    /// What a provider is given to answer an operator: as long as a login may take.
    static let providerPatience = Duration.seconds(5)

    /// Prepares the use cases.
    ///
    /// - Parameters:
    ///   - store: For what operators ask and change.
    ///   - operators: For who they are; the same unless requests of many operators come.
    ///   - kinds: The kinds of providers, by which the service is configured, checks and previews.
    ///   - masterKeys: Seal and open secrets.
    ///   - directory: The copy of the configuration that follows each change before the change is answered.
    ///   - clock: The time of day.
    ///   - random: Where what must not be guessed comes from.
    package init(
        store: Store,
        operators: Store? = nil,
        kinds: ProviderKinds,
        masterKeys: MasterKeys,
        directory: ApplicationDirectory? = nil,
        clock: WallClock = .system,
        random: RandomSource = .system
    ) {
        self.store = store
        self.operators = operators ?? store
        self.kinds = kinds
        self.masterKeys = masterKeys
        self.directory = directory
        self.clock = clock
        self.random = random
        banKey = BanKey(store: store, masterKeys: masterKeys, random: random)
    }
}
