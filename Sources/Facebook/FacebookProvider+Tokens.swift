package import Domain
package import Providers

// The checks of kept tokens, and the revocation of the permissions that the user granted.

extension FacebookProvider: TokenChecking, PermissionRevoking {
    package var tokenPolicy: TokenPolicy? {
        guard settings.options.keepTokens else { return nil }
        return TokenPolicy(
            isExchanged: settings.options.longLivedTokens,
            isReturned: settings.options.returnTokens,
            refreshHours: settings.options.refreshHours
        )
    }

    package func backgroundPace(of app: ProviderAppID) -> BackgroundPace {
        graph.backgroundPace(of: app, application: application)
    }

    package func verdict(
        on token: ProviderToken,
        of identity: IdentityKey,
        fields: String?,
        deadline: ContinuousClock.Instant,
        replace _: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict {
        let app: ProviderApp
        do throws(Failure) { app = try self.app(named: identity.app.text) } catch { return .unknown(error) }
        let now = clock.seconds
        let inspection = await graph.inspect(
            kept: token.text,
            app: app,
            settings: settings,
            application: application,
            deadline: deadline,
            now: now
        )
        let check = KeptTokenCheck(identity: identity, app: app, now: now)
        let alone = check.verdict(on: inspection, nil)
        guard case .stands = alone, let fields else { return alone }
        let profile = await graph.profile(
            kept: token.text,
            app: app,
            settings: settings,
            fields: fields,
            application: application,
            deadline: deadline,
            now: now
        )
        return check.verdict(on: inspection, profile)
    }

    package func reading(
        by token: ProviderToken,
        of identity: IdentityKey,
        fields: String,
        deadline: ContinuousClock.Instant,
        replace _: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict {
        let app: ProviderApp
        do throws(Failure) { app = try self.app(named: identity.app.text) } catch { return .unknown(error) }
        let now = clock.seconds
        let evidence = await graph.evidence(
            token: token.text,
            app: app,
            settings: settings,
            fields: fields,
            application: application,
            deadline: deadline,
            now: now
        )
        return KeptTokenCheck(identity: identity, app: app, now: now).verdict(on: evidence.inspection, evidence.profile)
    }

    package func exchangeForLongLived(
        _ token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> Secret? {
        guard let app = try? app(named: identity.app.text) else { return nil }
        return try? await graph.exchangeForLongLived(
            kept: token.text,
            app: app,
            settings: settings,
            application: application,
            deadline: deadline
        )
    }

    package func revokePermissions(
        by token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval {
        guard let app = apps.first(where: { $0.id == identity.app }) else {
            return .failed(
                Failure(
                    .providerMisconfigured,
                    "The secret of the app cannot be used.",
                    cause: "no secret of app \(identity.app)"
                )
            )
        }
        return await graph.removePermissions(
            by: token,
            of: identity.subject,
            app: app,
            settings: settings,
            application: application,
            deadline: deadline,
            now: clock.seconds
        )
    }
}
