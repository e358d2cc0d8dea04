import FoundationEssentials
import Identity
import Mapping
import Store

extension Federation {
    /// Maps the profile of a proven person and writes identity, user and session.
    func complete(_ proof: Proof, by plan: LoginPlan, in attempt: LoginAttempt) async throws(Failure) -> SignedIn {
        let application = attempt.loaded.application
        let mapped = try plan.mapping.apply(to: proof.person.profile, grantedScopes: proof.person.scopes)
        if !plan.mapping.newDynamicNames.isEmpty {
            try await store.registerDynamicNames(plan.mapping.newDynamicNames, of: application.id)
        }
        let session = sessionToken(for: proof, in: attempt)
        let written = try await store.signIn(
            SignInWrite(
                person: proof.person,
                freshID: Random.objectID(),
                tokenHash: session.hash,
                previousTokenHash: attempt.request.previousToken?.hash,
                sessionSeconds: application.settings.sessionAbsoluteSeconds,
                values: plan.columnValues(of: mapped),
                dynamic: plan.dynamicValues(of: mapped),
                token: tokenToKeep(of: proof, in: application),
                once: proof.once
            ),
            by: proof.once == nil ? plan.statement : plan.singleUseStatement,
            deadline: attempt.end
        )
        return SignedIn(
            user: written.user,
            token: session,
            created: written.created,
            missingPermissions: mapped.missingPermissions
        )
    }

    /// Completes a login whose credential is used up by now.
    ///
    /// When the application has been changed meanwhile, the same proof is written once more, by the configuration of now: nobody
    /// could prove the credential again.
    func completeOnce(
        _ proof: Proof,
        mapping: JSONValue?,
        in attempt: LoginAttempt
    ) async throws(Failure) -> SignedIn {
        do throws(Failure) {
            return try await withCurrent(attempt.loaded) { (loaded) throws(Failure) in
                var attempt = attempt
                attempt.loaded = loaded
                return try await complete(proof, by: try loaded.plan(clientMapping: mapping), in: attempt)
            }
        } catch {
            throw Failure(
                error.reason,
                error.message,
                details: error.details,
                retryAfter: error.retryAfter,
                cause: error.cause
            )
        }
    }

    /// The provider token as it is kept; nil where the application keeps none.
    private func tokenToKeep(of proof: Proof, in application: Application) -> SealedToken? {
        guard application.facebook?.options.keepTokens == true, let token = proof.token else { return nil }
        let identity = IdentityKey(app: proof.person.appID, subject: proof.person.subject)
        return masterKeys.seal(token, with: identity, of: application.id)
    }
}
