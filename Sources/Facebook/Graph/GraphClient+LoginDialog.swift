package import Domain
package import Providers

/// The parameters of Facebook's login dialog.
package struct LoginDialog: Sendable {
    let app: ProviderAppID
    let version: String
    let redirectURI: String
    let state: Secret
    let permissions: [String]?
    let authType: DialogAuthType?
    let configID: String?
    let codeChallenge: String?

    /// Creates the parameters of a dialog.
    ///
    /// - Parameters:
    ///   - app: The app that the user logs in to.
    ///   - version: The Graph version.
    ///   - redirectURI: The redirect URI. The exchange of the code must repeat it.
    ///   - state: The state that the browser must bring back.
    ///   - permissions: The permissions to ask for; nil if the configuration names them.
    ///   - authType: What Facebook asks of a user who has logged in before.
    ///   - configID: The configuration of Facebook Login for Business that the dialog follows.
    ///   - codeChallenge: The SHA-256 of the verifier in base64url; nil if the exchange will send no verifier.
    package init(
        app: ProviderAppID,
        version: String,
        redirectURI: String,
        state: Secret,
        permissions: [String]?,
        authType: DialogAuthType?,
        configID: String?,
        codeChallenge: String?
    ) {
        self.app = app
        self.version = version
        self.redirectURI = redirectURI
        self.state = state
        self.permissions = permissions
        self.authType = authType
        self.configID = configID
        self.codeChallenge = codeChallenge
    }
}

extension GraphClient {
    /// Returns the URL of the dialog, for a browser.
    ///
    /// The URL has only the parameters of `LoginDialog`, whatever a client sends (T-73). Values from a client have been
    /// checked: they have a valid form, or are in the operator's list.
    package func url(of dialog: LoginDialog) -> String {
        var target = Target(configuration.dialogBase, [dialog.version, "dialog", "oauth"])
        target.add("client_id", dialog.app.text)
        target.add("redirect_uri", dialog.redirectURI)
        target.add("state", dialog.state.reveal())
        target.add("response_type", "code")
        if let permissions = dialog.permissions { target.add("scope", permissions.joined(separator: ",")) }
        target.add("return_scopes", "true")
        if let authType = dialog.authType { target.add("auth_type", authType.rawValue) }
        if let configID = dialog.configID { target.add("config_id", configID) }
        if let codeChallenge = dialog.codeChallenge {
            target.add("code_challenge", codeChallenge)
            target.add("code_challenge_method", "S256")
        }
        return target.text
    }
}
