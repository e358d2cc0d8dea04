import Curl
package import Domain
import Encodings
import Providers

/// The result of checking the id and the secret of an app at Facebook.
package struct AppCheck: Sendable {
    package enum Outcome: Sendable {
        /// Id and secret match, and the app may inspect tokens; with the app's name at Facebook if it can be shown.
        case right(name: String?)
        /// What is wrong and what the operator should do; the failure says the same to a program.
        case wrong(problem: String, failure: Failure)
        /// Graph could not be asked, or its response does not tell.
        case unknown(Failure)
    }

    package let outcome: Outcome
    /// The Graph version of the response; nil when Graph sent none.
    package let answeredVersion: String?
}

extension GraphClient {
    /// Checks the id and the secret of an app at Graph.
    ///
    /// The check makes two requests in turn, both with the app token that id and secret make: one for the app itself,
    /// and the `debug_token` request of every login, with a text that is no token. Neither is retried: the operator can
    /// repeat the check. The result does not affect logins, and the check is made even while the circuit breaker
    /// refuses logins.
    ///
    /// - Parameters:
    ///   - app: The app, which need not be in the settings yet.
    ///   - settings: Graph version and form of the proof.
    ///   - application: The application of the app.
    ///   - deadline: The moment at which the check must be done.
    ///   - now: Unix seconds, for timed proofs.
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
            // The verdict that the text is no token is the expected response; its form counts as at a login.
            _ = try TokenInspectionCall.answer(reply, isGraphToken: noToken.isGraphToken)
            return AppCheck(outcome: .right(name: name), answeredVersion: version)
        } catch {
            return AppCheck(outcome: .unknown(error.failure), answeredVersion: version)
        }
    }
}

/// The call of `/{app id}`: the app as Graph shows it to the app's own token.
enum AppNode {
    /// The text to inspect in place of a real token, which would have to travel in a URL.
    static let noToken = Secret("none")

    /// Returns the request.
    static func question(by caller: GraphCaller, now: Int64) throws(Failure) -> GraphQuestion {
        var target = caller.target(caller.app.id.text)
        target.add("fields", "id,name")
        target.add(caller.proof(of: caller.appToken, now: now))
        return try caller.question(.app, target, bearer: caller.appToken)
    }

    /// Returns the app's name if an operator can be shown it: at most 256 bytes, without invisible characters.
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
