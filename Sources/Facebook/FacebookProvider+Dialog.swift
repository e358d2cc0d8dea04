import Crypto
package import Domain
import Encodings
package import Providers

// The login dialog, and the exchange of its codes. A client may let the service open the dialog. It may also open the
// dialog itself and send the code to the service.

extension FacebookProvider: DialogOffering {
    package var kind: ProviderName { .facebook }
    package var returnURLs: [String] { settings.options.returnURLs }
    package var dialogChallenge: DialogChallenge { settings.options.pkce }

    package func address(of dialog: Dialog, until _: ContinuousClock.Instant) -> String {
        let configID = dialog.wishes.configID ?? dialog.app.configID
        return graph.url(
            of: LoginDialog(
                app: dialog.app.id,
                version: settings.graphVersion,
                redirectURI: dialog.redirectURI,
                state: dialog.state,
                // A configuration at Facebook already names the permissions.
                permissions: dialog.wishes.permissions ?? (configID == nil ? settings.options.permissions : nil),
                authType: dialog.wishes.authType,
                configID: configID,
                codeChallenge: dialog.codeChallenge
            )
        )
    }

    package func check(_ wishes: DialogParameters) throws(Failure) {
        guard (wishes.permissions ?? []).allSatisfy(PermissionName.isValid) else {
            throw Failure(
                .malformedRequest,
                "permissions must be names of Facebook permissions, each of \(PermissionName.form)."
            )
        }
        if let configID = wishes.configID, !FacebookID.isValid(configID) {
            throw Failure(
                .malformedRequest,
                "configId must be the id of a configuration of Facebook Login for Business, a text of \(FacebookID.form)."
            )
        }
    }

    /// Returns the error that the redirect of the dialog reports; nil if it reports none.
    ///
    /// The message is a text of this service. Facebook's text is left out.
    package func failure(in answer: DialogAnswer) -> Failure? {
        func details(_ code: Int64?) -> JSONObject { code.map { ["graphCode": .integer($0)] } ?? JSONObject() }
        switch DialogReply.refusal(in: answer) {
        case nil:
            return nil
        case .cancelled:
            return Failure(.loginCancelled, "The login with Facebook was cancelled. Nothing has changed.")
        case .trouble(let code):
            return Failure(
                .providerUnavailable,
                "Facebook has a problem. Start the login with Facebook again in a moment.",
                details: details(code),
                retryAfter: 2,
                cause: "the dialog said so"
            )
        case .app(let code):
            return Failure(
                .providerMisconfigured,
                """
                Facebook's login dialog refuses this app. The operator must check at developers.facebook.com that the \
                app is active, may request these permissions, and lists the address of this service under "Valid OAuth \
                Redirect URIs".
                """,
                details: details(code),
                retryAfter: 60,
                cause: "the dialog refused the app"
            )
        }
    }

    package func declinedScopes(in answer: DialogAnswer) -> [String]? {
        DialogReply.declinedScopes(in: answer)
    }

    package func finish(
        _ code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog {
        let fields = try question.fields()
        return try await exchange(try AuthorizationCode(code), fields: fields, question, claim: claim)
    }

    /// Verifies an authorization code from a dialog that the client opened.
    ///
    /// The redirect URI must equal a URI in the operator's list byte for byte. Otherwise, no request is sent.
    func authenticate(
        by code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let fields = try question.fields()
        let checked = try AuthorizationCode(code)
        try RedirectTarget.check(checked.redirectURI, among: settings.options.redirectURIs)
        switch try await exchange(checked, fields: fields, question, claim: claim) {
        case .authenticated(let result): return result
        // The client opened the dialog, so only the client can open it again without a challenge.
        case .challengeLost(_, let failure): throw failure
        }
    }

    /// The seconds for which the service refuses a code that was used.
    ///
    /// Facebook's codes expire much earlier.
    private static let codeSeconds: Int64 = 3600

    /// Exchanges a code and verifies the access token in the response.
    ///
    /// A code cannot be tried with several apps. It is sent with the app that the client names, or with the first app.
    /// The code is accepted only once in all instances together, whatever the outcome (decision D13).
    private func exchange(
        _ code: AuthorizationCode,
        fields: String,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog {
        let app = try app(named: question.appID)
        let answer = try await graph.exchange(
            code,
            app: app,
            settings: settings,
            application: application,
            deadline: question.deadline
        ) { () throws(Failure) in
            let hash = Array(SHA256.hash(data: Array(code.code.reveal().utf8)))
            guard try await claim(hash, Self.codeSeconds) else {
                throw .usedCode(of: Self.title, cause: "an authorization code came again")
            }
        }
        switch answer {
        case .challengeLost(let failure):
            return .challengeLost(app.id, failure)
        case .token(let token):
            do throws(Failure) {
                return .authenticated(
                    try await authenticate(by: token, of: [app], fields: fields, question, isRepeatable: false)
                )
            } catch {
                throw error.startingOver(at: Self.title)
            }
        }
    }
}
