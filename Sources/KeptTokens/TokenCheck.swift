package import Applications
import Mapping
import Providers
package import Secrets
package import Store
package import Vocabulary

/// What became of a check of one identity.
package enum CheckResult: Sendable {
    case stands
    case refreshed(RefreshedUser)
    case revoked(sessionsEnded: Int)
    case dropped
    /// The token was of an app that the application does not have any more, and is forgotten.
    case forgotten
    /// Nobody could tell; it is tried again.
    case postponed
    /// Nothing was written: a login has brought another token, or the application has been changed.
    case superseded
}

/// A user whose profile has been read again, and the permissions that the mapping missed.
package struct RefreshedUser: Sendable {
    package let user: User
    package let missingPermissions: [String]

    package init(user: User, missingPermissions: [String]) {
        self.user = user
        self.missingPermissions = missingPermissions
    }
}

/// Asks providers about kept tokens and writes what they say; the background service, clients and operators all do it
/// this way.
package struct TokenCheck: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let clock: WallClock

    package init(
        store: Store,
        masterKeys: MasterKeys,
        clock: WallClock
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.clock = clock
    }

    /// Checks one claimed identity while nobody waits: exchanges the token if it is to live longer, asks whether it
    /// stands, and reads the profile where that is due.
    ///
    /// - Parameters:
    ///   - identity: The claimed identity.
    ///   - loaded: Its application.
    ///   - deadline: When the claim is over.
    /// - Returns: What became of it, and whether the token was exchanged; nil where it was not to be.
    /// - Throws: When nothing could be written; the claim then comes back by itself.
    package func run(
        _ identity: KeptIdentity,
        of loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (result: CheckResult, exchanged: Bool?) {
        guard !loaded.lacks(identity.key) else {
            let isForgotten = try await store.dropTokenOfFormerApp(of: identity, in: loaded.application)
            return (isForgotten ? .forgotten : .superseded, nil)
        }
        let asking: Asking
        do throws(Failure) { asking = try self.asking(identity, of: loaded) } catch {
            return (try await write(.unknown(error), about: identity, of: loaded).get(), nil)
        }
        let now = clock.seconds
        let fields = fieldsDue(of: asking, now: now)
        let wantsLonger = asking.policy.isExchanged && identity.isShortLived(now: now)
        if wantsLonger,
            let longer = await asking.provider.exchangeForLongLived(asking.token, of: identity.key, deadline: deadline)
        {
            let verdict = await asking.provider.verdict(
                on: longer,
                of: identity.key,
                fields: fields,
                deadline: deadline
            )
            if case .stands = verdict {
                let replacement = masterKeys.seal(
                    ProviderToken(kind: .access, text: longer, expiresAt: nil),
                    with: identity.key,
                    of: loaded.application.id
                )
                return (try await writeInBackground(verdict, identity, loaded, replacement: replacement), true)
            }
        }
        let verdict = await asking.provider.verdict(
            on: asking.token,
            of: identity.key,
            fields: fields,
            deadline: deadline
        )
        let result = try await writeInBackground(verdict, identity, loaded, wantsLonger: wantsLonger)
        return (result, wantsLonger ? false : nil)
    }

    /// What a provider said of a kept token, with the profile, while somebody waits for it.
    package struct Reading: Sendable {
        fileprivate let verdict: TokenVerdict
        fileprivate let provider: ProviderName
        fileprivate let fields: String
        fileprivate let loaded: LoadedApplication

        /// Whether the provider would be asked the same for the application as it is by now.
        package func isAnswer(for loaded: LoadedApplication) throws(Failure) -> Bool {
            guard loaded !== self.loaded else { return true }
            let plan = try loaded.plan(for: provider, clientMapping: nil)
            return loaded.isSetUp(with: provider, as: self.loaded) && plan.mapping.graphFields.hasSameBytes(as: fields)
        }
    }

    /// Reads the profile while somebody waits, by the questions of a login.
    ///
    /// - Throws: `provider_not_configured` or `provider_misconfigured` when the application cannot ask about the
    ///   identity.
    package func read(
        _ identity: KeptIdentity,
        of loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Reading {
        let asking = try asking(identity, of: loaded)
        let fields = try loaded.plan(for: identity.key.provider, clientMapping: nil).mapping.graphFields
        let verdict = await asking.provider.reading(
            by: asking.token,
            of: identity.key,
            fields: fields,
            deadline: deadline
        )
        return Reading(verdict: verdict, provider: identity.key.provider, fields: fields, loaded: loaded)
    }

    /// Writes what was read while somebody waits.
    ///
    /// - Returns: The user as it is then; nil when a login was faster.
    /// - Throws: What a login with the token would be answered; what that means for the identity has been written then.
    package func write(
        _ reading: Reading,
        of identity: KeptIdentity,
        in loaded: LoadedApplication
    ) async throws(Failure) -> StatementOutcome<RefreshedUser?> {
        let verdict = reading.verdict
        switch verdict {
        case .stands(_, .notAsked):
            _ = try await write(verdict, about: identity, of: loaded)
            throw Self.noDataAccess(at: loaded.title(of: identity.key.provider))
        case .stands(_, .failed(let failure)):
            _ = try await write(verdict, about: identity, of: loaded)
            throw try loaded.explained(failure, provider: identity.key.provider, clientMapping: nil)
        case .stands(_, .profile):
            return try await write(verdict, about: identity, of: loaded).map { result in
                if case .refreshed(let refreshed) = result { refreshed } else { nil }
            }
        case .revoked(let failure), .worthless(let failure):
            _ = try await write(verdict, about: identity, of: loaded)
            throw failure
        case .unknown(let failure):
            throw failure
        }
    }

    private static func noDataAccess(at provider: String) -> Failure {
        Failure(
            .credentialExpired,
            """
            The access to the person's \(provider) data has expired, 90 days after they last used the app. Log in with \(provider) again \
            (reauthorize) to renew data access.
            """
        )
    }

    // MARK: Asking

    /// What is needed to ask about an identity.
    private struct Asking {
        let identity: KeptIdentity
        let loaded: LoadedApplication
        let provider: any TokenChecking
        let policy: TokenPolicy
        let token: Secret
    }

    /// - Throws: `provider_not_configured` or `provider_misconfigured` when the application cannot ask about the
    ///   identity.
    private func asking(_ identity: KeptIdentity, of loaded: LoadedApplication) throws(Failure) -> Asking {
        let provider = try loaded.provider(identity.key.provider, as: (any TokenChecking).self)
        _ = try provider.app(named: identity.app.text)
        let token = try masterKeys.open(identity, of: loaded.application.id).text
        return Asking(
            identity: identity,
            loaded: loaded,
            provider: provider,
            policy: provider.tokenPolicy ?? TokenPolicy(),
            token: token
        )
    }

    /// The fields of the stored mapping, when the profile is to be read again; nil when it is not.
    private func fieldsDue(of asking: Asking, now: Int64) -> String? {
        guard let hours = asking.policy.refreshHours, !asking.identity.isDisabled,
            now.subtractingReportingOverflow(asking.identity.refreshedAt).partialValue >= hours * 3600
        else { return nil }
        let provider = asking.identity.key.provider
        return try? asking.loaded.plan(for: provider, clientMapping: nil).mapping.graphFields
    }

    // MARK: Writing

    /// Writes a verdict; a profile that the mapping or the users table refuses is nobody's to hear of, and the token
    /// stands all the same.
    private func writeInBackground(
        _ verdict: TokenVerdict,
        _ identity: KeptIdentity,
        _ loaded: LoadedApplication,
        replacement: SealedToken? = nil,
        wantsLonger: Bool = false
    ) async throws(Failure) -> CheckResult {
        do throws(Failure) {
            return try await write(
                verdict,
                about: identity,
                of: loaded,
                replacement: replacement,
                wantsLonger: wantsLonger
            ).get()
        } catch {
            guard case .stands(let token, .profile) = verdict, error.reason != .storeUnavailable else { throw error }
            return try await write(
                .stands(token, .notAsked),
                about: identity,
                of: loaded,
                replacement: replacement,
                wantsLonger: wantsLonger
            ).get()
        }
    }

    private func write(
        _ verdict: TokenVerdict,
        about identity: KeptIdentity,
        of loaded: LoadedApplication,
        replacement: SealedToken? = nil,
        wantsLonger: Bool = false
    ) async throws(Failure) -> StatementOutcome<CheckResult> {
        let application = loaded.application
        switch verdict {
        case .stands(let token, let profile):
            let standing = TokenStanding(
                scopes: token.scopes,
                dataAccessExpiresAt: token.dataAccessExpiresAt,
                expiresAt: token.expiresAt,
                replacement: replacement,
                nextCheckSeconds: wantsLonger ? Self.secondsToNextExchange : nil
            )
            if case .profile(let profile) = profile {
                return try await write(profile, scopes: token.scopes, standing, of: identity, loaded)
            }
            let isKept = try await store.noteStanding(standing, of: identity, in: application)
            return .done(isKept ? .stands : .superseded)
        case .revoked:
            let revocation = IdentityRevocation(
                of: identity.key,
                .token(identity.token),
                by: "check",
                endsSessions: (loaded.configured(identity.key.provider) as? any RemovalReporting)?
                    .endsSessionsWhenRevoked ?? false
            )
            let actor = Actor.provider(identity.key.provider, by: "check")
            let revoked = try await store.revoke(revocation, of: application, by: actor)
            return .done(revoked.map { .revoked(sessionsEnded: $0.sessionsEnded) } ?? .superseded)
        case .worthless:
            return .done(try await store.dropToken(of: identity, in: application) ? .dropped : .superseded)
        case .unknown(let failure):
            let now = clock.seconds
            let seconds = CheckBackoff.seconds(after: failure.reason, identity, now: now)
            try await store.postponeCheck(of: identity, bySeconds: seconds, in: application)
            return .done(.postponed)
        }
    }

    /// Writes a profile by the stored mapping, as a login would, and without a session.
    private func write(
        _ profile: JSONObject,
        scopes: [String],
        _ standing: TokenStanding,
        of identity: KeptIdentity,
        _ loaded: LoadedApplication
    ) async throws(Failure) -> StatementOutcome<CheckResult> {
        let plan = try loaded.plan(for: identity.key.provider, clientMapping: nil)
        let fields = loaded.configured(identity.key.provider)?.fields ?? .none
        let admitted = AdmittedProfile(profile, by: fields)
        let mapped = try plan.mapping.apply(to: admitted, grantedScopes: scopes)
        let written = try await store.refreshProfile(
            plan.columnValues(of: mapped),
            clearing: mapped.cleared,
            standing: standing,
            of: identity,
            by: plan.refreshStatement(of: loaded.application)
        )
        return written.map { user in
            guard let user else { return .superseded }
            return .refreshed(RefreshedUser(user: user, missingPermissions: mapped.missingPermissions))
        }
    }

    /// A short-lived token is good for an hour or two.
    private static let secondsToNextExchange: Int64 = 600
}

extension LoadedApplication {
    /// Whether an app is none of the application's; one whose secret cannot be opened is.
    fileprivate func lacks(_ identity: IdentityKey) -> Bool {
        guard defect == nil, let provider = configured(identity.provider) else { return false }
        return !provider.apps.contains { $0.id == identity.app }
    }
}

/// When a check that came to nothing is tried again: each pause is as long as the check is overdue, so that pauses
/// double.
enum CheckBackoff {
    /// Seconds until the next try, after a check that came to nothing for a reason; `now` in Unix seconds.
    static func seconds(after reason: Failure.Reason, _ identity: KeptIdentity, now: Int64) -> Int64 {
        let day: Int64 = 86_400
        // The person has to do something at the provider first.
        guard reason != .userActionRequired else { return day }
        let due = identity.isShortLived(now: now) ? identity.checkedAt : identity.checkedAt + day
        let overdue = min(max(now.subtractingReportingOverflow(due).partialValue, 60), day / 4)
        // An operator takes longer than a provider.
        let isOurs = reason == .providerMisconfigured || reason == .providerNotConfigured
        return isOurs ? max(overdue, 3600) : overdue
    }
}
