import Curl
package import Domain
import Encodings
import Providers

/// The result of checking an app's id and secret at Facebook.
package struct AppCheck: Sendable {
    package enum Outcome: Sendable {
        /// The id and the secret match, and the app may inspect tokens.
        ///
        /// `name` is the app's name at Facebook; nil if it is not fit to show.
        case right(name: String?)
        /// Facebook refuses the app.
        ///
        /// `problem` tells the operator what is wrong and what to do. `failure` is for programs.
        case wrong(problem: String, failure: Failure)
        /// Graph did not respond, or the response does not show whether the id and the secret are right.
        case unknown(Failure)
    }

    package let outcome: Outcome
    /// The Graph version that responded; nil when Graph named none.
    package let answeredVersion: String?
}

extension GraphClient {
    /// Checks an app's id and secret at Graph.
    ///
    /// The check sends two requests, one after the other, with the app token made of the id and the secret. The first
    /// asks for the app itself. The second is the `debug_token` request of every login, with a text that is not a
    /// token. Neither request is retried, since the operator can repeat the check. The result does not affect logins.
    /// The check also runs while the circuit breaker refuses logins.
    ///
    /// - Parameters:
    ///   - app: The app, which need not be in the settings yet.
    ///   - settings: The Graph version and the form of the proof.
    ///   - application: The application of the app.
    ///   - deadline: The moment by which the check must be done.
    ///   - now: The current time in Unix seconds, for timed proofs.
    /// - Returns: The outcome, which does not contain the secret.
    package func check(
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async -> AppCheck {
        let (caller, noToken): (GraphCaller, TokenText)
        let (node, inspection): (GraphQuestion, GraphQuestion)
        do throws(Failure) {
            caller = try GraphCaller(app, settings, configuration)
            noToken = try TokenText(AppNode.noToken)
            node = try AppNode.question(by: caller, now: now)
            inspection = try TokenInspectionCall.question(noToken, by: caller, now: now)
        } catch {
            return AppCheck(outcome: .wrong(problem: error.message, failure: error), answeredVersion: nil)
        }

        let link = link(AppLink.Key(application: application, app: app.id))
        var version: String?
        do throws(ProviderFault) {
            var name: String?
            var reply = try await node.ask(curl, configuration, until: deadline, of: link)
            version = reply.version
            switch try reply.content() {
            case .error(let error):
                return AppCheck(outcome: .init(error, in: reply, to: caller), answeredVersion: version)
            case .object(let object): name = try AppNode.name(in: object, of: reply, app: app.id)
            }
            reply = try await inspection.ask(curl, configuration, until: deadline, of: link)
            version = reply.version ?? version
            if case .error(let error) = try reply.content() {
                return AppCheck(outcome: .init(error, in: reply, to: caller), answeredVersion: version)
            }
            // Graph is expected to respond that the text is not a token. The response must have the same form as at a
            // login.
            _ = try TokenInspectionCall.answer(reply, isGraphToken: noToken.isGraphToken)
            return AppCheck(outcome: .right(name: name), answeredVersion: version)
        } catch {
            return AppCheck(outcome: .unknown(error.failure), answeredVersion: version)
        }
    }
}

/// The request to `/{app id}`, which returns the app.
///
/// The app's own token (app id and secret) authorizes the request.
enum AppNode {
    /// The text that the check of an app sends to `debug_token` in place of a token.
    ///
    /// The text is not a real token, since the URL contains it.
    static let noToken = Secret("none")

    /// Returns the request for the app's id and name.
    static func question(by caller: GraphCaller, now: Int64) throws(Failure) -> GraphQuestion {
        var target = caller.target(caller.app.id.text)
        target.add("fields", "id,name")
        target.add(caller.proof(of: caller.appToken, now: now))
        return try caller.question(.app, target, bearer: caller.appToken)
    }

    /// Returns the app's name, if it is fit to show to an operator: at most 256 bytes, without invisible characters.
    ///
    /// - Throws: `ProviderFault` when the response is about another app.
    static func name(in object: JSONObject, of reply: GraphReply, app: ProviderAppID) throws(ProviderFault) -> String? {
        guard let id = object["id"]?.decimalText, id.hasSameBytes(as: app.text) else {
            throw reply.misshapen("another app than the one asked for")
        }
        guard let name = object["name"]?.string, (1...256).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({ isVisible($0) })
        else { return nil }
        return name
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
