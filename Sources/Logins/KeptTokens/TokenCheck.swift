package import Applications
package import Domain
import Encodings
import Mapping
import Providers
package import Secrets
package import Store

/// The result of the check of one identity's kept provider token.
package enum CheckResult: Sendable {
    case stands
    case refreshed(RefreshedUser)
    case revoked(sessionsEnded: Int)
    case dropped
    /// The token was deleted, since the application no longer has the app that the token was issued for.
    case forgotten
    /// The check had no result. A later check follows.
    case postponed
    /// Nothing was written, since a login has brought another token or the application has changed.
    case superseded
}

/// A user whose profile was fetched again, and the permissions that the mapping needs and the user did not grant.
package struct RefreshedUser: Sendable {
    package let user: User
    package let missingPermissions: [String]
}

/// Asks providers whether the tokens that the service keeps are still valid.
///
/// This happens in the background, or while a client or an operator waits.
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

    /// Checks the kept token of one identity in the background.
    ///
    /// Exchanges the token if the application wants a longer-lived one. Then checks whether the token is valid. Fetches
    /// the profile if it is due.
    ///
    /// - Parameters:
    ///   - identity: The identity with its kept token.
    ///   - loaded: The application of the identity.
    ///   - deadline: The time until which other instances leave the check to this instance.
    /// - Returns: The result, and whether the token was exchanged; nil if no exchange was due.
    /// - Throws: An error if nothing could be written. After the deadline, any instance may check the token.
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
            let longer = ProviderToken(kind: .access, text: longer, expiresAt: nil)
            let verdict = await asking.provider.verdict(
                on: longer,
                of: identity.key,
                fields: fields,
                deadline: deadline
            ) { _ throws(Failure) in }
            if case .stands = verdict {
                let replacement = masterKeys.encrypt(longer, with: identity.key, of: loaded.application.id)
                return (try await writeInBackground(verdict, identity, loaded, replacement: replacement), true)
            }
        }
        var identity = identity
        let use = try await withUse(of: asking, until: deadline) { (lease) async throws(Failure) in
            await asking.provider.verdict(
                on: asking.token,
                of: identity.key,
                fields: fields,
                deadline: deadline
            ) { (text) throws(Failure) in identity = try await keep(text, of: identity, loaded, lease) }
        }
        let verdict: TokenVerdict
        switch use {
        case .done(let result): verdict = result
        case .busy: return (.postponed, nil)
        case .superseded: return (.superseded, nil)
        }
        let result = try await writeInBackground(verdict, identity, loaded, wantsLonger: wantsLonger)
        return (result, wantsLonger ? false : nil)
    }

    /// A provider's response about a kept token: whether the token is valid, and the profile.
    ///
    /// It is fetched for a client or an operator that waits for the result.
    package struct Reading: Sendable {
        fileprivate let verdict: TokenVerdict
        /// The identity, with the token that is kept now.
        fileprivate let identity: KeptIdentity
        fileprivate let fields: String
        fileprivate let loaded: LoadedApplication

        /// Returns whether the response is still usable after a change of the application's configuration.
        ///
        /// It is usable if the service would send the same request to the provider under the new configuration.
        package func isAnswer(for loaded: LoadedApplication) throws(Failure) -> Bool {
            guard loaded !== self.loaded else { return true }
            let provider = identity.key.provider
            let plan = try loaded.plan(for: provider, clientMapping: nil)
            return loaded.isSetUp(with: provider, as: self.loaded) && plan.mapping.fields.hasSameBytes(as: fields)
        }
    }

    /// Checks a kept token with the provider and fetches the profile, for a client or an operator that waits.
    ///
    /// The requests to the provider are the same as at a login. Nothing is written, except a token that the provider
    /// issued in place of the kept one. While another request uses the refresh token, the method waits.
    ///
    /// - Parameters:
    ///   - loaded: The application of the identity.
    ///   - deadline: The moment at which the response must be there.
    ///   - current: Returns the identity with its kept token.
    /// - Returns: The response of the provider.
    /// - Throws: `provider_not_configured` or `provider_misconfigured` if the application cannot send requests about
    ///   the identity; `overloaded` if another request uses the token until the deadline; the errors of `current`.
    package func read(
        of loaded: LoadedApplication,
        deadline: ContinuousClock.Instant,
        _ current: () async throws(Failure) -> KeptIdentity
    ) async throws(Failure) -> Reading {
        while true {
            var identity = try await current()
            let asking = try asking(identity, of: loaded)
            let fields = try loaded.plan(for: identity.key.provider, clientMapping: nil).mapping.fields
            let use = try await withUse(of: asking, until: deadline) { (lease) async throws(Failure) in
                await asking.provider.reading(
                    by: asking.token,
                    of: identity.key,
                    fields: fields,
                    deadline: deadline
                ) { (text) throws(Failure) in identity = try await keep(text, of: identity, loaded, lease) }
            }
            if case .done(let verdict) = use {
                return Reading(verdict: verdict, identity: identity, fields: fields, loaded: loaded)
            }
            guard .now + Self.pause < deadline, (try? await Task.sleep(for: Self.pause)) != nil else {
                throw Failure(
                    .overloaded,
                    "Another request is reading this profile. Try again shortly.",
                    retryAfter: 1,
                    cause: "the refresh token of an identity is in use"
                )
            }
        }
    }

    /// What became of an attempt to use a kept token.
    private enum Use {
        case done(TokenVerdict)
        /// Another request uses the refresh token.
        case busy
        /// The token is no longer the stored one.
        case superseded
    }

    /// Calls a provider with a kept token, and lets no other request use a refresh token meanwhile.
    ///
    /// Other tokens may be used by several requests at once.
    private func withUse(
        of asking: Asking,
        until deadline: ContinuousClock.Instant,
        _ call: (RefreshTokenLease?) async throws(Failure) -> TokenVerdict
    ) async throws(Failure) -> Use {
        guard asking.token.kind == .refresh else { return .done(try await call(nil)) }
        let application = asking.loaded.application
        let seconds = (deadline - .now) / .seconds(1) + Self.secondsToWrite
        switch try await store.beginUse(of: asking.identity, seconds: seconds, in: application) {
        case .superseded: return .superseded
        case .busy: return .busy
        case .begun(let lease):
            let verdict = try await call(lease)
            try await store.end(lease, in: application)
            return .done(verdict)
        }
    }

    /// The seconds for which the use of a refresh token goes on after the deadline of the provider's response, so that
    /// the new token can be written.
    private static let secondsToWrite = 5.0

    /// The pause before the service looks again whether another request still uses a refresh token.
    private static let pause = Duration.milliseconds(100)

    /// Stores the token that the provider issued in place of the kept one.
    ///
    /// - Returns: The identity with the token that is kept now.
    private func keep(
        _ text: Secret,
        of identity: KeptIdentity,
        _ loaded: LoadedApplication,
        _ lease: RefreshTokenLease?
    ) async throws(Failure) -> KeptIdentity {
        let kept = ProviderToken(kind: identity.token.kind, text: text, expiresAt: nil)
        let token = masterKeys.encrypt(kept, with: identity.key, of: loaded.application.id)
        let standing = TokenStanding(scopes: nil, dataAccessExpiresAt: nil, expiresAt: nil, replacement: token)
        let isKept = try await store.noteStanding(standing, of: identity, in: loaded.application)
        // The former token is used up. So others need not wait until the profile is read.
        if let lease { try await store.end(lease, in: loaded.application) }
        return isKept ? identity.with(token) : identity
    }

    /// Writes the result of `read` to the database: the profile; or, for an invalid token, that the token no longer
    /// counts.
    ///
    /// - Returns: The user after the write; nil if a login has brought another token in the meantime.
    /// - Throws: The error of a login with this token, after the revocation or deletion of the token is written.
    package func write(
        _ reading: Reading,
        in loaded: LoadedApplication
    ) async throws(Failure) -> StatementOutcome<RefreshedUser?> {
        let (verdict, identity) = (reading.verdict, reading.identity)
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
        case .revoked(let failure), .invalid(let failure):
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
            The access to the user's \(provider) data has expired, 90 days after the last use of the app. Log in with \
            \(provider) again (reauthorize) to renew data access.
            """
        )
    }

    // MARK: Asking

    /// The values that a check of a kept token needs.
    private struct Asking {
        let identity: KeptIdentity
        let loaded: LoadedApplication
        let provider: any TokenChecking
        let policy: TokenPolicy
        let token: ProviderToken
    }

    /// Returns the values that a check of a kept token needs.
    ///
    /// - Throws: `provider_not_configured` or `provider_misconfigured` if the application cannot send requests about
    ///   the identity.
    private func asking(_ identity: KeptIdentity, of loaded: LoadedApplication) throws(Failure) -> Asking {
        let provider = try loaded.provider(identity.key.provider, as: (any TokenChecking).self)
        try provider.requireApp(of: identity.key)
        let token = try masterKeys.open(identity, of: loaded.application.id)
        return Asking(
            identity: identity,
            loaded: loaded,
            provider: provider,
            policy: provider.tokenPolicy ?? TokenPolicy(),
            token: token
        )
    }

    /// Returns the list of profile fields to fetch for the stored mapping; nil if the profile is not due to be fetched
    /// again.
    private func fieldsDue(of asking: Asking, now: Int64) -> String? {
        guard let hours = asking.policy.refreshHours, !asking.identity.isDisabled,
            now.subtractingReportingOverflow(asking.identity.refreshedAt).partialValue >= hours * 3600
        else { return nil }
        let provider = asking.identity.key.provider
        return try? asking.loaded.plan(for: provider, clientMapping: nil).mapping.fields
    }

    // MARK: Writing

    /// Writes the result of a token check in the background.
    ///
    /// If the profile does not fit the mapping or the users table, the method writes the result without the profile and
    /// reports no error, since the token is still valid.
    private func writeInBackground(
        _ verdict: TokenVerdict,
        _ identity: KeptIdentity,
        _ loaded: LoadedApplication,
        replacement: EncryptedToken? = nil,
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
        replacement: EncryptedToken? = nil,
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
                return try await write(profile, scopes: token.scopes ?? [], standing, of: identity, loaded)
            }
            let isKept = try await store.noteStanding(standing, of: identity, in: application)
            return .done(isKept ? .stands : .superseded)
        case .revoked:
            let revocation = IdentityRevocation(
                of: identity.key,
                .token(identity.token),
                by: "check",
                endsSessions: (loaded.configured(identity.key.provider) as? any EventReporting)?
                    .endsSessionsWhenRevoked ?? false
            )
            let actor = ChangeAuthor.provider(identity.key.provider, by: "check")
            let revoked = try await store.revoke(revocation, of: application, by: actor)
            return .done(revoked.map { .revoked(sessionsEnded: $0.sessionsEnded) } ?? .superseded)
        case .invalid:
            return .done(try await store.dropToken(of: identity, in: application) ? .dropped : .superseded)
        case .unknown(let failure):
            let now = clock.seconds
            let seconds = CheckBackoff.seconds(after: failure.reason, identity, now: now)
            try await store.postponeCheck(of: identity, bySeconds: seconds, in: application)
            return .done(.postponed)
        }
    }

    /// Writes a profile to the user's properties by the stored mapping.
    ///
    /// The properties are the same as after a login, but no session is opened.
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

    /// The seconds until a failed exchange is retried.
    ///
    /// A short-lived token is valid for an hour or two.
    private static let secondsToNextExchange: Int64 = 600
}

extension LoadedApplication {
    /// Returns whether the application no longer has the provider's app to which an identity belongs.
    ///
    /// An app whose secret cannot be decrypted is not missing.
    fileprivate func lacks(_ identity: IdentityKey) -> Bool {
        guard defect == nil, identity.app != .global, let provider = configured(identity.provider) else { return false }
        return !provider.apps.contains { $0.id == identity.app }
    }
}

/// The wait before a kept token is checked again, after a check without a result.
///
/// The wait is as long as the time since the check was due. So it doubles with each failed check.
enum CheckBackoff {
    /// Returns the seconds until the next check, which depend on the reason why the last check failed.
    ///
    /// `now` is in Unix seconds.
    static func seconds(after reason: Failure.Reason, _ identity: KeptIdentity, now: Int64) -> Int64 {
        let day: Int64 = 86_400
        // The user has to act at the provider first.
        guard reason != .userActionRequired else { return day }
        let due = identity.isShortLived(now: now) ? identity.checkedAt : identity.checkedAt + day
        let overdue = min(max(now.subtractingReportingOverflow(due).partialValue, 60), day / 4)
        // An operator takes longer than a provider to repair an error.
        let isOurs = reason == .providerMisconfigured || reason == .providerNotConfigured
        return isOurs ? max(overdue, 3600) : overdue
    }
}
