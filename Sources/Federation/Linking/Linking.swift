package import Identity
package import Logging
import Mapping
import Store

/// A user after an identity has been linked.
package struct LinkedUser: Sendable {
    package let user: User
    /// Permissions at the provider whose absence left mapped properties unfilled.
    package let missingPermissions: [String]
}

extension Federation {
    /// Links the identity that a fresh credential proves to the user of a session (decision D6): never by e-mail, and never one that
    /// is somebody else's.
    ///
    /// The mapping writes as at a login by that identity, except that what is written at the first login alone fills only what is
    /// empty. A new identity needs a session that was proved within five minutes, since a stolen one must not bring the thief's own; a
    /// credential of an identity that is the user's already proves the session anew.
    ///
    /// - Throws: What a login throws; `session_invalid`, `identity_taken`, `reauthentication_required`.
    package func link(
        _ request: LoginRequest,
        toUserOf token: SessionToken?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        // Nobody makes the provider work, or uses a credential up, without a session that lives.
        let before = try await user(of: token, in: loaded)
        guard let token, let provider = IdentityProviders.named(request.provider) else { throw .sessionInvalid }
        guard admission.enter() else {
            throw Failure(.overloaded, "Too many logins are under way. Try again shortly.", retryAfter: 1)
        }
        defer { admission.leave() }
        let end = ContinuousClock.now + limits.login
        var metadata: Logger.Metadata = [
            "application": "\(loaded.application.id)", "provider": "\(request.provider)", "user": "\(before.objectID)",
        ]
        do throws(Failure) {
            let attempt = LoginAttempt(request: request, loaded: loaded, end: end, limits: limits)
            let linked = try await link(try await provider.prove(attempt, in: self), to: token, in: attempt)
            logger.info("link", metadata: metadata)
            return linked
        } catch {
            metadata["outcome"] = "\(error.reason.rawValue)"
            if let cause = error.cause { metadata["cause"] = "\(cause)" }
            logger.notice("link", metadata: metadata)
            throw error.withoutCause
        }
    }

    private func link(
        _ proved: ProvedLogin,
        to token: SessionToken,
        in attempt: LoginAttempt
    ) async throws(Failure) -> LinkedUser {
        func write(_ proof: Proof, _ plan: LoginPlan, _ attempt: LoginAttempt) async throws(Failure) -> LinkedUser {
            let person = proof.person
            let mapped = try plan.mapping.apply(to: person.profile, grantedScopes: person.scopes)
            let written = try await self.write(
                mapped,
                of: proof,
                session: token,
                joining: .session(tokenHash: token.hash, provedWithin: Self.proofSeconds),
                by: plan,
                in: attempt
            )
            return LinkedUser(user: written.user, missingPermissions: mapped.missingPermissions)
        }
        switch proved {
        case .repeatable(let proof, let plan):
            return try await write(proof, plan, attempt)
        case .usedUp(let proof, let mapping):
            return try await writingOnce(in: attempt) { (attempt) throws(Failure) in
                let plan = try attempt.loaded.plan(for: attempt.request.provider, clientMapping: mapping)
                return try await write(proof, plan, attempt)
            }
        }
    }

    /// The ways in that the user of a session has.
    package func waysIn(
        ofUserOf token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [WayIn] {
        let user = try await user(of: token, in: loaded)
        return try await store.waysIn(of: user.objectID, session: token?.hash ?? [], in: loaded.application)
    }

    /// Takes a way in from the user of a session: an identity of a provider, or the password.
    ///
    /// The sessions that it opened end, but for the one that asks; at Facebook our permissions are given up where a token is kept.
    ///
    /// - Parameters:
    ///   - way: What is taken away.
    ///   - token: Whose it is.
    ///   - loaded: The application.
    ///   - logger: Gets one line.
    /// - Throws: `session_invalid`, `not_found`, `last_way_in`; `reauthentication_required` when the session was proved more than five
    ///   minutes ago; `malformed_request` when several identities are meant.
    package func unlink(
        _ way: WayInSelection,
        fromUserOf token: SessionToken?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let user = try await user(of: token, in: loaded)
        var metadata: Logger.Metadata = [
            "application": "\(loaded.application.id)", "provider": "\(way.provider)", "user": "\(user.objectID)",
        ]
        do throws(Failure) {
            let lost = try await store.removeWayIn(
                way,
                fromUserOf: token?.hash ?? [],
                provedWithin: Self.proofSeconds,
                in: loaded.application
            )
            logger.info("unlink", metadata: metadata)
            let farewell = Farewell(graph: clients.graph, store: store, masterKeys: masterKeys)
            _ = await farewell.giveUpPermissions(
                by: lost,
                formerlyOf: user.objectID,
                in: loaded,
                actor: Actor(name: "user:\(user.objectID)", source: "unlink")
            )
        } catch {
            metadata["outcome"] = "\(error.reason.rawValue)"
            logger.notice("unlink", metadata: metadata)
            throw error
        }
    }
}
