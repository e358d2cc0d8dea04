import Crypto
package import Domain
import Encodings
package import Providers

// The login dialog, and the exchange of its codes. A client may open a dialog of its own and send the code, or let the
// service open the dialog.

extension FacebookProvider: DialogOffering {
    package var kind: ProviderName { .facebook }
    package var returnURLs: [String] { settings.options.returnURLs }
    package var dialogChallenge: DialogChallenge { settings.options.pkce }

    package func address(of dialog: Dialog) -> String {
        let configID = dialog.wishes.configID ?? dialog.app.configID
        return graph.url(
            of: LoginDialog(
                app: dialog.app.id,
                version: settings.graphVersion,
                redirectURI: dialog.redirectURI,
                state: dialog.state,
                // A configuration names the permissions itself.
                permissions: dialog.wishes.permissions ?? (configID == nil ? settings.options.permissions : nil),
                authType: dialog.wishes.authType,
                configID: configID,
                codeChallenge: dialog.codeChallenge
            )
        )
    }

    package func check(_ wishes: DialogWishes) throws(Failure) {
        guard (wishes.permissions ?? []).allSatisfy(PermissionName.isValid) else {
            throw Failure(
                .malformedRequest,
                "permissions must be names of Facebook's permissions, each of \(PermissionName.form)."
            )
        }
        if let configID = wishes.configID, !FacebookID.isValid(configID) {
            throw Failure(
                .malformedRequest,
                "configId must be the id of a configuration of Facebook Login for Business, a text of \(FacebookID.form)."
            )
        }
    }

    /// Returns the failure in our words; Facebook's own text is left out.
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
                "Facebook has a problem of its own. Start the login with Facebook over, in a moment.",
                details: details(code),
                retryAfter: 2,
                cause: "the dialog said so"
            )
        case .app(let code):
            return Failure(
                .providerMisconfigured,
                """
                Facebook's login dialog refuses this app. The operator has to check the app at developers.facebook.com: whether it \
                is active, may ask for these permissions, and lists our address under "Valid OAuth Redirect URIs".
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
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog {
        let fields = try question.fields()
        let code = try AuthorizationCode(code.code, redirectURI: code.redirectURI, codeVerifier: code.codeVerifier)
        return try await exchange(code, fields: fields, question, claim: claim)
    }

    /// Verifies an authorization code from a dialog that the client opened.
    ///
    /// No request is sent unless the redirect URI equals one of the operator's, byte for byte.
    func authenticate(
        by code: DialogCode,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let fields = try question.fields()
        guard settings.options.redirectURIs.contains(where: { $0.hasSameBytes(as: code.redirectURI) }) else {
            throw Failure(
                .credentialInvalid,
                """
                redirectUri is none of those that the operator allows for this application; it must be the same to the byte. The \
                operator adds it to redirectUris of the provider.
                """
            )
        }
        let code = try AuthorizationCode(code.code, redirectURI: code.redirectURI, codeVerifier: code.codeVerifier)
        switch try await exchange(code, fields: fields, question, claim: claim) {
        case .authenticated(let result): return result
        // Only the client can open its dialog again without a challenge.
        case .challengeLost(_, let failure): throw failure
        }
    }

    /// Seconds in which a used authorization code is refused here; Facebook's codes expire much earlier.
    private static let codeSeconds: Int64 = 3600

    /// Exchanges a code and verifies the access token that it gives.
    ///
    /// A code cannot be tried with several apps, so it belongs to the app that the client names, or to the first app.
    /// The code is single-use on all instances, whatever the outcome (decision D13).
    private func exchange(
        _ code: AuthorizationCode,
        fields: String,
        _ question: ProviderQuestion,
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
                throw .usedCode(cause: "an authorization code came again")
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
                throw error.startingOver
            }
        }
    }
}
