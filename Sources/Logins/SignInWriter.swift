import KeptTokens
package import Secrets
package import Applications
import FoundationEssentials
import Vocabulary
import Mapping
import Providers
package import Store

/// Writes who has been authenticated: identity, user and session in one statement.
package struct SignInWriter: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let random: RandomSource
    let banKey: BanKey

    package init(
        store: Store,
        masterKeys: MasterKeys,
        random: RandomSource,
        banKey: BanKey
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
        self.banKey = banKey
    }

    /// Maps the profile of an authenticated person and writes identity, user and session.
    func complete(
        _ login: AuthenticatedLogin,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> SignedIn {
        let session = sessionToken(for: login, in: attempt)
        let linking = attempt.request.guest.map { LinkTarget.guest($0.id, tokenHash: $0.token.hash) }
        let mapped = try plan.mapping.apply(to: login.result.profile, grantedScopes: login.result.person.scopes)
        let written = try await write(mapped, of: login, session: session, linking: linking, by: plan, in: attempt)
        return SignedIn(
            user: written.user,
            token: session,
            created: written.created,
            missingPermissions: mapped.missingPermissions,
            omissions: mapped.omissions
        )
    }

    /// Writes an authenticated person: as themselves, or onto the user to whom the identity is linked.
    func write(
        _ mapped: MappedProfile,
        of login: AuthenticatedLogin,
        session: SessionToken,
        linking: LinkTarget?,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> WrittenSignIn {
        let application = attempt.loaded.application
        if !plan.mapping.newDynamicNames.isEmpty {
            try await store.registerDynamicNames(plan.mapping.newDynamicNames, of: application.id)
        }
        let write = SignInWrite(
            person: login.result.person,
            banHash: try await banKey.hasher(of: application.id)(login.result.person.identity),
            freshID: random.objectID(),
            tokenHash: session.hash,
            previousTokenHash: attempt.request.previousToken?.hash,
            sessionSeconds: application.settings.sessionAbsoluteSeconds,
            values: plan.columnValues(of: mapped),
            cleared: mapped.cleared,
            dynamic: plan.dynamicValues(of: mapped),
            token: tokenToKeep(of: login.result, in: attempt.loaded),
            once: login.once
        )
        let statement = login.once == nil ? plan.statement : plan.singleUseStatement
        guard let linking else { return try await store.signIn(write, by: statement, deadline: attempt.end) }
        return try await store.signIn(write, by: statement, linking: linking)
    }

    /// The provider token as it is kept; nil where the application keeps none.
    private func tokenToKeep(of result: AuthenticationResult, in loaded: LoadedApplication) -> SealedToken? {
        let identity = result.person.identity
        guard loaded.tokenPolicy(of: identity.provider) != nil, let token = result.token else { return nil }
        return masterKeys.seal(token, with: identity, of: loaded.application.id)
    }
}
