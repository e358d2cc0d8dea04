import FoundationEssentials
import Vocabulary
import Mapping
import Store

extension Federation {
    /// Maps the profile of a proven person and writes identity, user and session.
    func complete(_ proof: Proof, by plan: LoginPlan, in attempt: LoginAttempt) async throws(Failure) -> SignedIn {
        let session = sessionToken(for: proof, in: attempt)
        let linking = attempt.request.guest.map { LinkTarget.guest($0.id, tokenHash: $0.token.hash) }
        let mapped = try plan.mapping.apply(to: proof.profile, grantedScopes: proof.person.scopes)
        let written = try await write(mapped, of: proof, session: session, linking: linking, by: plan, in: attempt)
        return SignedIn(
            user: written.user,
            token: session,
            created: written.created,
            missingPermissions: mapped.missingPermissions,
            omissions: mapped.omissions
        )
    }

    /// Writes a proven person: as themselves, or onto the user whom they join.
    func write(
        _ mapped: MappedProfile,
        of proof: Proof,
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
            person: proof.person,
            banHash: try await banKey.hasher(of: application.id)(proof.person.identity),
            freshID: Random.objectID(),
            tokenHash: session.hash,
            previousTokenHash: attempt.request.previousToken?.hash,
            sessionSeconds: application.settings.sessionAbsoluteSeconds,
            values: plan.columnValues(of: mapped),
            cleared: mapped.cleared,
            dynamic: plan.dynamicValues(of: mapped),
            token: tokenToKeep(of: proof, in: application),
            once: proof.once
        )
        let statement = proof.once == nil ? plan.statement : plan.singleUseStatement
        guard let linking else { return try await store.signIn(write, by: statement, deadline: attempt.end) }
        return try await store.signIn(write, by: statement, linking: linking)
    }

    /// The provider token as it is kept; nil where the application keeps none.
    private func tokenToKeep(of proof: Proof, in application: Application) -> SealedToken? {
        let identity = proof.person.identity
        guard application.providers[identity.provider]?.tokenKeeping != nil, let token = proof.token else { return nil }
        return masterKeys.seal(token, with: identity, of: application.id)
    }
}
