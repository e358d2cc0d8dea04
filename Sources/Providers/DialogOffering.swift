package import Vocabulary

/// A provider with a login dialog that a browser opens and that sends the browser back with a code.
package protocol DialogOffering: CredentialVerifying {
    /// The kind of provider that it is.
    var kind: ProviderName { get }
    /// Where a browser may be sent after a login through the server, compared as bytes; the first is the default.
    var returnURLs: [String] { get }
    /// Whether dialogs are opened with a challenge of PKCE.
    var dialogChallenge: DialogChallenge { get }

    /// The address of the dialog.
    func address(of dialog: Dialog) -> String

    /// What is wrong with what a client wants of the dialog.
    ///
    /// - Throws: `malformed_request`.
    func check(_ wishes: DialogWishes) throws(Failure)

    /// Why the dialog sends the browser back without a code; nil when it says nothing of the kind.
    func failure(in answer: DialogAnswer) -> Failure?

    /// The permissions that the person declined; nil when the dialog does not say.
    func declinedScopes(in answer: DialogAnswer) -> [String]?

    /// Exchanges the code with which the browser came back, once, and verifies the token that it gives.
    ///
    /// - Parameters:
    ///   - code: The code with what the dialog was opened with.
    ///   - question: What is asked of the provider; `appID` is the app of the dialog.
    ///   - claim: As of `CredentialVerifying.authenticate`.
    /// - Returns: Whom the provider vouches for, or that it has lost the dialog's challenge.
    /// - Throws: Why there is neither.
    func finish(
        _ code: DialogCode,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog
}

/// Whether the login dialog is opened with a `code_challenge` (RFC 7636), which a provider may forget, or demand.
package enum DialogChallenge: String, Sendable, CaseIterable {
    /// With one; for a while without, after the provider has forgotten one.
    case auto
    case on
    case off
}

/// What a client wants of a dialog, not checked yet.
package struct DialogWishes: Sendable {
    /// What the dialog shall ask for; nil for the operator's choice.
    package var permissions: [String]?
    package var authType: DialogAuthType?
    /// The configuration at the provider that the dialog shall follow; nil for the app's, if it has one.
    package var configID: String?

    package init(permissions: [String]? = nil, authType: DialogAuthType? = nil, configID: String? = nil) {
        self.permissions = permissions
        self.authType = authType
        self.configID = configID
    }
}

/// A dialog that is to be opened.
package struct Dialog: Sendable {
    package let app: ProviderApp
    /// Where the provider sends the browser back to.
    package let redirectURI: String
    package let state: Secret
    package let wishes: DialogWishes
    /// The challenge of PKCE, S256; nil for a dialog without.
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

/// The code of a dialog, with what the dialog was opened with: all of it must fit together.
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

/// What a provider gives for the code of a dialog.
package enum FinishedDialog: Sendable {
    case authenticated(AuthenticationResult)
    /// Nothing, since the provider has not kept the challenge of the dialog at this app: another dialog without one
    /// gives a code that it takes.
    case challengeLost(ProviderAppID, Failure)
}
