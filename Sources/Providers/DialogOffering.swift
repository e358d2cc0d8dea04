package import Domain

/// A provider with a login dialog in the browser that ends with an authorization code.
package protocol DialogOffering: CredentialVerifying {
    /// The provider kind.
    var kind: ProviderName { get }
    /// The addresses that a browser may return to after a login through the server, compared as bytes.
    ///
    /// The first one is the default.
    var returnURLs: [String] { get }
    /// Whether dialogs are opened with a challenge of PKCE.
    var dialogChallenge: DialogChallenge { get }

    /// Returns the address of a dialog.
    func address(of dialog: Dialog) -> String

    /// Checks a client's parameters for the dialog.
    ///
    /// - Throws: `malformed_request`.
    func check(_ wishes: DialogWishes) throws(Failure)

    /// Returns the error in the dialog's redirect; nil when the redirect has none.
    func failure(in answer: DialogAnswer) -> Failure?

    /// Returns the permissions that the user declined; nil when the dialog does not tell.
    func declinedScopes(in answer: DialogAnswer) -> [String]?

    /// Exchanges the single-use code of the dialog, and verifies the token that it gives.
    ///
    /// - Parameters:
    ///   - code: The code, with the parameters that the dialog was opened with.
    ///   - question: The parameters of the verification; `appID` is the app of the dialog.
    ///   - claim: As in `CredentialVerifying.authenticate`.
    /// - Returns: The verified user, or that the provider has lost the dialog's challenge.
    /// - Throws: The reason why there is neither.
    func finish(
        _ code: DialogCode,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog
}

/// The setting for a dialog's `code_challenge` (RFC 7636), which a provider may forget, or demand.
package enum DialogChallenge: String, Sendable, CaseIterable {
    /// With a challenge; without one for a while after the provider has forgotten a challenge.
    case auto
    case on
    case off
}

/// A client's parameters for a dialog, not checked yet.
package struct DialogWishes: Sendable {
    /// The permissions to ask for; nil for the operator's choice.
    package var permissions: [String]?
    package var authType: DialogAuthType?
    /// The configuration at the provider to follow; nil for the app's configuration, if it has one.
    package var configID: String?

    package init(permissions: [String]? = nil, authType: DialogAuthType? = nil, configID: String? = nil) {
        self.permissions = permissions
        self.authType = authType
        self.configID = configID
    }
}

/// The parameters of a dialog to open.
package struct Dialog: Sendable {
    package let app: ProviderApp
    /// The redirect URI, to which the provider sends the browser.
    package let redirectURI: String
    package let state: Secret
    package let wishes: DialogWishes
    /// The challenge of PKCE, S256; nil for a dialog without a challenge.
    package let codeChallenge: String?

    package init(
        app: ProviderApp,
        redirectURI: String,
        state: Secret,
        wishes: DialogWishes,
        codeChallenge: String?
    ) {
        self.app = app
        self.redirectURI = redirectURI
        self.state = state
        self.wishes = wishes
        self.codeChallenge = codeChallenge
    }
}

/// The code of a dialog, with the parameters of the dialog, which must match the code.
package struct DialogCode: Sendable {
    package let code: Secret
    package let redirectURI: String
    package let codeVerifier: Secret?

    package init(code: Secret, redirectURI: String, codeVerifier: Secret?) {
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
    }
}

/// The outcome of exchanging a dialog's code.
package enum FinishedDialog: Sendable {
    case authenticated(AuthenticationResult)
    /// The provider has not kept the dialog's challenge at this app, so the code is worthless.
    ///
    /// A code from another dialog without a challenge is accepted.
    case challengeLost(ProviderAppID, Failure)
}
