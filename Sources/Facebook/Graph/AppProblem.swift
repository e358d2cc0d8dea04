import Domain
import Providers

extension AppCheck.Outcome {
    /// Creates the result of an app's check from the error with which Graph refused the app token.
    init(_ error: GraphError, in reply: GraphReply, to caller: GraphCaller) {
        let fault = reply.fault(error, of: .appToken, isGraphToken: false)
        guard fault.isVerdict else {
            self = .unknown(fault.failure)
            return
        }
        let problem = AppProblem(error: error, app: caller.app.id, settings: caller.settings).text
        self = .wrong(
            problem: problem,
            failure: Failure(
                .providerMisconfigured,
                problem,
                details: fault.failure.details,
                cause: fault.failure.cause
            )
        )
    }
}

/// The problem that Graph has with an app's settings (docs/protocols/facebook.md §1.2, §1.3 and §3.4).
///
/// The text of Graph's error decides, since one code has several causes. The service's messages never contain Graph's
/// text.
struct AppProblem {
    let error: GraphError
    let app: ProviderAppID
    let settings: FacebookSettings

    /// A text that says what is wrong and what the operator must do.
    var text: String {
        let text = error.text
        if error.mentionsProof { return refusedProof }
        if text.says("access token signature") || text.says("client secret") {
            return """
                Facebook knows the app \(app) but does not accept this app secret. Copy the app secret from "App \
                settings", "Basic" at developers.facebook.com, and set it again.
                """
        }
        if text.says("application has been deleted") {
            return "The app \(app) has been deleted at Facebook. Set the id and the secret of another app."
        }
        if text.says("validating application") || text.says("valid app id") || error.meaning == 101 {
            return """
                Facebook has no app with the id \(app). Copy the app id from "App settings", "Basic" at \
                developers.facebook.com, and check that the app was not deleted.
                """
        }
        if error.saysBlocked {
            return """
                Facebook blocks the app \(app) from its API. Check at developers.facebook.com what Facebook requires: \
                live mode, a review, a verification, or the end of a restriction.
                """
        }
        if countsForNothing {
            return """
                Facebook ignores the app token of \(app), as for apps of the type "Native or desktop app". Turn that \
                type off under "App settings", "Advanced" at developers.facebook.com.
                """
        }
        if text.says("unknown path components") || error.meaning == 2635 {
            return """
                Facebook does not have the Graph version \(settings.graphVersion). Choose another version; the newest \
                known one is \(GraphVersions.latest).
                """
        }
        let code = error.code.map { "error \($0)" } ?? "an error without a code"
        return """
            Facebook refuses the app \(app) with \(code). Check at developers.facebook.com that the app is active and \
            needs no action.
            """
    }

    /// Whether Graph ignored the app token, as it does for apps of the type "Native or desktop app".
    private var countsForNothing: Bool {
        error.meaning == 104 || error.text.says("active access token")
            || error.text.says("must provide an app access token")
            || error.text.says("desktop app")
    }

    /// The text for the operator if Graph refuses the `appsecret_proof`.
    ///
    /// The app secret is right, since Graph checks the app token before the proof.
    private var refusedProof: String {
        switch settings.proof {
        case .timed:
            """
            Facebook accepts the secret of the app \(app), but not the timed proof made with it (appsecret_proof), which is \
            good for five minutes. Set the clock of this machine right, or choose the proof "classic".
            """
        case .classic:
            """
            Facebook accepts the secret of the app \(app), but not the classic proof made with it (appsecret_proof). Choose \
            the proof "timed".
            """
        }
    }
}
