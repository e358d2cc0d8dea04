import Crypto
package import Providers
package import Vocabulary

// The login dialog, and what its codes come to. A client may open a dialog of its own and send the code, or let us open
// one.

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
                // A configuration says itself what is asked for.
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

    /// Facebook's own text stays out of it.
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

    /// Verifies an authorization code of the client's own dialog.
    ///
    /// Nothing is sent unless the redirect URI is one of the operator's, to the byte.
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
        // A dialog of the client's is the client's to open otherwise.
        case .challengeLost(_, let failure): throw failure
        }
    }

    /// Seconds for which an authorization code that came once is refused here; after that Facebook has long ended it.
    private static let codeSeconds: Int64 = 3600

    /// Exchanges a code and verifies the access token that it gives.
    ///
    /// A code cannot be tried at one app after another, so it counts for the app that the client names, or for the
    /// first one. It counts once, on whatever instance and whatever comes of it (decision D13).
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
