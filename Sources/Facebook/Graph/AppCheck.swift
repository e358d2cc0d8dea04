import Curl
import Upstream
package import Vocabulary

/// What Facebook makes of the id and the secret of an app.
package struct AppCheck: Sendable {
    package enum Outcome: Sendable {
        /// Both belong together, and the app may ask about tokens; with the app's name at Facebook, if it is one to
        /// show.
        case right(name: String?)
        /// What is wrong and what to do about it, for the operator; the failure says the same to a program.
        case wrong(problem: String, failure: Failure)
        /// Graph could not be asked, or gave no answer that tells.
        case unknown(Failure)
    }

    package let outcome: Outcome
    /// The version of Graph that answered; nil when none said so.
    package let answeredVersion: String?
}

extension GraphClient {
    /// Checks the id and the secret of an app at Graph.
    ///
    /// Two questions, one after the other, both with the app token that id and secret make: for the app itself, and the
    /// one that every login asks, about a text that is no token. Each is asked once: whoever wants to know it again can
    /// repeat the check. No login is held up by what comes out, and a check asks even while logins may not.
    ///
    /// - Parameters:
    ///   - app: The app, of the settings or not yet.
    ///   - settings: Graph version and form of the proof.
    ///   - application: Whose app it is.
    ///   - deadline: When the answer is worth nothing any more.
    ///   - now: Unix seconds, for timed proofs.
    /// - Returns: The outcome, in which the secret does not occur.
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
            // That the text is no token is the answer to be had; its form counts as at a login.
            _ = try TokenInspectionCall.answer(reply, isGraphToken: noToken.isGraphToken)
            return AppCheck(outcome: .right(name: name), answeredVersion: version)
        } catch {
            return AppCheck(outcome: .unknown(error.failure), answeredVersion: version)
        }
    }
}

/// `/{app id}`: the app as Graph shows it to its own token.
enum AppNode {
    /// The text whose inspection is asked for: a real token would have to travel in a URL.
    static let noToken = Secret("none")

    /// The question.
    static func question(by caller: GraphCaller, now: Int64) throws(Failure) -> GraphQuestion {
        var target = caller.target(caller.app.id.text)
        target.add("fields", "id,name")
        target.add(caller.proof(of: caller.appToken, now: now))
        return try caller.question(.app, target, bearer: caller.appToken)
    }

    /// The app's name, if it is one to show to an operator: of at most 256 bytes, without invisible characters.
    ///
    /// - Throws: `ProviderFault` when the reply is about something else.
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
