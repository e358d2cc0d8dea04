import Vocabulary
import Mapping
import Store

// A login between the provider's word and the write. The application may be changed in between, and again while that is noticed: the
// proof stays what it is, and is written by the configuration of then.

extension Federation {
    /// Proves the credential of an attempt and writes what it proves, by the application as it is by then, until the attempt ends.
    ///
    /// The provider is asked once more only where the application by now wants other fields of a person or is set up with the provider
    /// in another way; never for a credential that is used up.
    func withProof<Result>(
        of attempt: LoginAttempt,
        by provider: any IdentityProvider.Type,
        write: (Proof, LoginPlan, LoginAttempt) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        var last: (proved: ProvedLogin, loaded: LoadedApplication)?
        return try await withCurrent(attempt.loaded, until: attempt.end) { (loaded) throws(Failure) in
            var attempt = attempt
            attempt.loaded = loaded
            if let (proved, former) = last, let plan = try proved.plan(in: attempt, provedFor: former) {
                return try await write(proved.proof, plan, attempt)
            }
            let proved = try await provider.prove(attempt, in: self)
            last = (proved, loaded)
            return try await write(proved.proof, try proved.plan(in: attempt), attempt)
        }
    }

    /// Writes what nobody could prove again.
    func withProof<Result>(
        _ proof: Proof,
        mapping: JSONValue?,
        in attempt: LoginAttempt,
        write: (Proof, LoginPlan, LoginAttempt) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let proved = ProvedLogin.usedUp(proof, mapping: mapping)
        return try await withCurrent(attempt.loaded, until: attempt.end) { (loaded) throws(Failure) in
            var attempt = attempt
            attempt.loaded = loaded
            return try await write(proof, try proved.plan(in: attempt), attempt)
        }
    }
}

extension ProvedLogin {
    fileprivate var proof: Proof {
        switch self {
        case .repeatable(let proof, _), .usedUp(let proof, _): proof
        }
    }

    /// What to write for the application that the credential was proved for.
    fileprivate func plan(in attempt: LoginAttempt) throws(Failure) -> LoginPlan {
        switch self {
        case .repeatable(_, let plan): plan
        case .usedUp(_, let mapping): try attempt.loaded.plan(for: attempt.request.provider, clientMapping: mapping)
        }
    }

    /// What to write for the application as it is by now; nil when the provider has to be asked again.
    fileprivate func plan(
        in attempt: LoginAttempt,
        provedFor former: LoadedApplication
    ) throws(Failure) -> LoginPlan? {
        let (provider, loaded) = (attempt.request.provider, attempt.loaded)
        let isSetUpAlike = loaded.isSetUp(with: provider, as: former)
        guard case .repeatable(_, let plan) = self else {
            // The operator may have switched the provider off.
            if !isSetUpAlike { _ = try loaded.apps(of: provider, appID: attempt.request.appID) }
            return try self.plan(in: attempt)
        }
        guard isSetUpAlike else { return nil }
        let next = try loaded.plan(for: provider, clientMapping: attempt.request.mapping)
        return next.mapping.graphFields.hasSameBytes(as: plan.mapping.graphFields) ? next : nil
    }
}
