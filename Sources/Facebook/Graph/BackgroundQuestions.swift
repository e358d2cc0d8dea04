package import Providers
import Upstream
package import Vocabulary

// What is asked of Graph while nobody waits. Each question is asked once; repeating is for whoever plans the work.

extension GraphClient {
    /// How fast work in the background may ask about an app now: not at all while logins may not ask either.
    package func backgroundPace(of app: ProviderAppID, application: ApplicationID) -> BackgroundPace {
        knownLink(of: app, application)?.backgroundPace() ?? .full
    }

    /// Asks `debug_token` about a kept token.
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

    /// Asks `/me` with a kept token for fields in Graph's syntax, each field once, with `id` among them.
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

    /// Exchanges a token for the long-lived one of the same person (docs/protocols/facebook.md §1.3).
    ///
    /// - Returns: The long-lived token, which is not verified yet.
    /// - Throws: Why there is none; the token that was to be exchanged is as good as before.
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

    /// Asks, and takes in what that says about asking on.
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
