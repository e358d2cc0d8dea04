package import Domain
package import Encodings

/// A provider with a login dialog for browsers.
///
/// The dialog ends with an authorization code.
package protocol DialogOffering: CredentialVerifying {
    /// The name of the provider kind.
    var kind: ProviderName { get }
    /// Whether the service can log users in by this provider's dialog.
    var offersDialog: Bool { get }
    /// The URLs to which the browser may return at the end of a login by this provider's dialog.
    ///
    /// A client may choose one of them: the URL in its request must be the same byte for byte.
    ///
    /// If the client sends no URL, the first one is used.
    var returnURLs: [String] { get }
    /// The operator's option that decides whether the service opens the provider's dialogs with a PKCE challenge.
    var dialogChallenge: DialogChallenge { get }

    /// Returns the URL that opens a dialog in the user's browser.
    ///
    /// - Throws: `provider_unavailable` and similar failures if the provider must be asked for it.
    func address(of dialog: Dialog, until deadline: ContinuousClock.Instant) async throws(Failure) -> String

    /// Checks the parameters that a client sent for a dialog.
    ///
    /// - Throws: `malformed_request`.
    func check(_ wishes: DialogParameters) throws(Failure)

    /// Returns the error that the redirect at the end of a dialog reports; nil if it reports none.
    func failure(in answer: DialogAnswer) -> Failure?

    /// Returns the permissions that the user declined; nil if the redirect does not list them.
    func declinedScopes(in answer: DialogAnswer) -> [String]?

    /// Exchanges the authorization code from the end of a dialog for a token, and verifies the token.
    ///
    /// - Parameters:
    ///   - code: The code, with the parameters of the dialog.
    ///   - question: The parameters of the verification. `appID` is the app of the dialog.
    ///   - claim: Marks the code as used, just before the request. The arguments and the result are as in
    ///     `CredentialVerifying.authenticate`.
    /// - Returns: The verified user; or `challengeLost`, if the provider has lost the PKCE challenge of the dialog.
    /// - Throws: The reason of any other failure.
    func finish(
        _ code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog
}

/// The option that decides whether login dialogs are opened with a PKCE `code_challenge` (RFC 7636).
///
/// Some providers require a challenge. Others sometimes lose the challenge before the authorization code is exchanged,
/// and then refuse the code.
package enum DialogChallenge: String, Sendable, CaseIterable {
    /// Dialogs have a challenge, except for a while after the provider has lost one.
    case auto
    case on
    case off
}

/// The parameters that a client sent for a dialog, not checked yet.
package struct DialogParameters: Sendable {
    /// The permissions to ask for; nil for those that the operator chose.
    package var permissions: [String]?
    package var authType: DialogAuthType?
    /// The id of a configuration at the provider that decides what the dialog asks for; nil for the configuration of
    /// the app, if it has one.
    package var configID: String?
    /// The account that the dialog proposes, such as an e-mail address; nil for none.
    package var loginHint: String?

    package init(
        permissions: [String]? = nil,
        authType: DialogAuthType? = nil,
        configID: String? = nil,
        loginHint: String? = nil
    ) {
        self.permissions = permissions
        self.authType = authType
        self.configID = configID
        self.loginHint = loginHint
    }
}

/// The parameters with which the service opens a provider's login dialog.
package struct Dialog: Sendable {
    package let app: ProviderApp
    /// The address to which the provider redirects the browser.
    package let redirectURI: String
    package let state: Secret
    package let wishes: DialogParameters
    /// The PKCE challenge (S256); nil for a dialog without a challenge.
    package let codeChallenge: String?

    package init(
        app: ProviderApp,
        redirectURI: String,
        state: Secret,
        wishes: DialogParameters,
        codeChallenge: String?
    ) {
        self.app = app
        self.redirectURI = redirectURI
        self.state = state
        self.wishes = wishes
        self.codeChallenge = codeChallenge
    }
}

/// The authorization code that a login dialog ended with, and parameters of the same dialog.
///
/// The provider checks that the parameters match the code.
package struct DialogCode: Sendable {
    package let code: Secret
    /// The redirect URI of the dialog; nil for a code that an SDK got without a redirect.
    package let redirectURI: String?
    package let codeVerifier: Secret?
    /// The redirect that brought the code; nil for a code that a client sent.
    package let answer: DialogAnswer?

    package init(code: Secret, redirectURI: String?, codeVerifier: Secret?, answer: DialogAnswer? = nil) {
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        self.answer = answer
    }
}

/// The result of exchanging the authorization code that a login dialog ended with.
package enum FinishedDialog: Sendable {
    case authenticated(AuthenticationResult)
    /// The provider has lost the PKCE challenge that the dialog was opened with, so it refuses the code.
    ///
    /// A new dialog without a challenge yields a code that the provider accepts.
    case challengeLost(ProviderAppID, Failure)
}

extension Failure {
    /// Returns the failure for a code that was sent to the provider before.
    ///
    /// The code counts as used even if the first attempt failed.
    package static func usedCode(
        of title: String,
        details: JSONObject = JSONObject(),
        cause: String
    ) -> Failure {
        Failure(
            .credentialInvalid,
            "This authorization code has already been used. It is single-use. Log in with \(title) again.",
            details: details,
            cause: cause
        )
    }

    /// Returns this failure, as reported to a client that sent an authorization code.
    ///
    /// If the provider did not respond correctly, the message asks for a new login, since a code cannot be sent twice.
    /// All other failures stay as they are.
    package func startingOver(at title: String) -> Failure {
        switch reason {
        case .providerUnavailable, .providerTimeout, .providerBadReply: break
        default: return self
        }
        let message = """
            \(title) did not respond correctly, and an authorization code is single-use. Start the login with \(title) \
            again in a moment.
            """
        return Failure(reason, message, details: details, retryAfter: retryAfter, cause: cause)
    }
}

extension DialogOffering {
    /// The default: the service can.
    package var offersDialog: Bool { true }
}
