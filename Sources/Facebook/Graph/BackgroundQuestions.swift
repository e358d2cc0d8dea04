package import Domain
package import Providers

// Background requests to Graph. No request is retried here, since background work has retries of its own.

extension GraphClient {
    /// Returns how fast background work may send requests to Graph for an app.
    ///
    /// The pace is `none` while the circuit breaker refuses logins.
    package func backgroundPace(of app: ProviderAppID, application: ApplicationID) -> BackgroundPace {
        knownLink(of: app, application)?.backgroundPace() ?? .full
    }

    /// Asks Graph's `debug_token` in the background about a token that the service keeps.
    package func inspect(
        kept token: Secret,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async -> AccessTokenEvidence.Inspection {
        do throws(Failure) {
            let token = try TokenText(token)
            let caller = try GraphCaller(app, settings, configuration)
            let question = try TokenInspectionCall.question(token, by: caller, now: now)
            return try await ask(question, of: app.id, application, until: deadline) { (reply) throws(ProviderFault) in
                try TokenInspectionCall.answer(reply, isGraphToken: token.isGraphToken)
            }
        } catch {
            return .failed(error)
        }
    }

    /// Requests `/me` with a kept token.
    ///
    /// `fields` is in Graph's syntax and has each field once, including `id`.
    package func profile(
        kept token: Secret,
        app: ProviderApp,
        settings: FacebookSettings,
        fields: String,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async -> AccessTokenEvidence.Profile {
        do throws(Failure) {
            let token = try TokenText(token)
            let caller = try GraphCaller(app, settings, configuration)
            let question = try ProfileFetch.question(fields, of: token, by: caller, now: now)
            let user = try await ask(question, of: app.id, application, until: deadline) {
                (reply) throws(ProviderFault) in
                try ProfileFetch.answer(reply, isGraphToken: token.isGraphToken)
            }
            return .user(user)
        } catch {
            return .failed(error)
        }
    }

    /// Exchanges a token for a long-lived token of the same user (docs/protocols/facebook.md §1.3).
    ///
    /// - Returns: The long-lived token, which is not verified yet.
    /// - Throws: The reason why there is none. The first token remains valid.
    package func exchangeForLongLived(
        kept token: Secret,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Secret {
        let token = try TokenText(token)
        let question = try LongLivedExchange.question(token, by: try GraphCaller(app, settings, configuration))
        return try await ask(question, of: app.id, application, until: deadline, LongLivedExchange.answer)
    }

    /// Sends a background request and records its outcome, which determines the pace of later background requests.
    private func ask<Answer>(
        _ question: GraphQuestion,
        of app: ProviderAppID,
        _ application: ApplicationID,
        until deadline: ContinuousClock.Instant,
        _ answer: (GraphReply) throws(ProviderFault) -> Answer
    ) async throws(Failure) -> Answer {
        let link = link(AppLink.Key(application: application, app: app))
        do throws(ProviderFault) {
            let found = try answer(try await question.ask(curl, configuration, until: deadline, of: link))
            link.noteInBackground(nil)
            return found
        } catch {
            link.noteInBackground(error.signal)
            throw error.failure
        }
    }
}
