import Applications
import Domain
import Encodings
import Providers

/// The decisions about a login by a dialog, such as the provider and the address to which the browser goes at the end.
///
/// The service makes these decisions when the login begins. They apply until the login ends.
struct DialogPlan: Sendable {
    /// The provider of the dialog.
    ///
    /// A response of another provider is refused.
    let provider: ProviderName
    /// The id of the provider's app that the user logs in to.
    let appID: String
    /// The address to which the provider sends the browser back.
    ///
    /// The exchange of the code must repeat this address.
    let redirectURI: String
    let mapping: JSONValue?
    let end: DialogEnd
    /// Whether the client will use the login code to link the identity to the user of an existing session.
    ///
    /// If so, the service asks for no second factor after the dialog. If the client logs in with the code instead, that
    /// login still needs the second factor.
    let isForLinking: Bool
    /// Whether the account page redeems the login code.
    let isForAccountPage: Bool
    /// The invitation that a new user presents.
    let invitation: InvitationToken?

    /// The maximum size, in bytes, of a client's mapping.
    ///
    /// The URL that leads to the dialog contains the mapping.
    static let maxMappingBytes = 2048

    private enum Key {
        static let (provider, appID, redirectURI, mapping) = ("provider", "app", "redirectUri", "mapping")
        static let (returnURL, codeChallenge, origin) = ("returnUrl", "codeChallenge", "origin")
        static let (linking, accountPage, invitation) = ("linking", "accountPage", "invitation")
        static let relaysTo = "relaysTo"
    }

    init(
        provider: ProviderName,
        appID: String,
        redirectURI: String,
        mapping: JSONValue?,
        end: DialogEnd,
        isForLinking: Bool = false,
        isForAccountPage: Bool = false,
        invitation: InvitationToken? = nil
    ) {
        self.provider = provider
        self.appID = appID
        self.redirectURI = redirectURI
        self.mapping = mapping
        self.end = end
        self.isForLinking = isForLinking
        self.isForAccountPage = isForAccountPage
        self.invitation = invitation
    }

    /// The plan as members of the JSON object that is encrypted.
    var members: [JSONObject.Member] {
        var object: JSONObject = [
            Key.provider: .string(provider.text), Key.appID: .string(appID), Key.redirectURI: .string(redirectURI),
        ]
        if let mapping { object.append(Key.mapping, mapping) }
        if isForLinking { object.append(Key.linking, .bool(true)) }
        if isForAccountPage { object.append(Key.accountPage, .bool(true)) }
        if let invitation { object.append(Key.invitation, .string(invitation.hashText)) }
        switch end {
        case .redirect(let url, let codeChallenge, let origin):
            object.append(Key.returnURL, .string(url))
            if let origin { object.append(Key.relaysTo, .string(origin)) }
            if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        case .popup(let origin): object.append(Key.origin, .string(origin))
        }
        return object.members
    }

    /// Reads a plan from a decrypted JSON object; nil if required members are missing.
    init?(_ object: JSONObject) {
        guard let provider = object[Key.provider]?.string.flatMap(ProviderName.init),
            let appID = object[Key.appID]?.string, let redirectURI = object[Key.redirectURI]?.string
        else { return nil }
        if let origin = object[Key.origin]?.string {
            end = .popup(origin: origin)
        } else if let url = object[Key.returnURL]?.string {
            end = .redirect(
                to: url,
                codeChallenge: object[Key.codeChallenge]?.string,
                relaysTo: object[Key.relaysTo]?.string
            )
        } else {
            return nil
        }
        self.provider = provider
        self.appID = appID
        self.redirectURI = redirectURI
        mapping = object[Key.mapping]
        isForLinking = object[Key.linking]?.bool ?? false
        isForAccountPage = object[Key.accountPage]?.bool ?? false
        invitation = InvitationToken(hashText: object[Key.invitation]?.string)
    }

    /// Returns whether the plan is for the given provider, and the operator still allows the target of the login.
    ///
    /// The target is a return URL, the origin of a popup's opener, or the account page. Since the login began, the
    /// operator may have removed the URL or the origin from the lists, or disabled the account page.
    func isListed(by application: Application, at provider: any DialogOffering) -> Bool {
        guard self.provider == provider.name else { return false }
        guard !isForAccountPage else { return application.settings.pages.account }
        return end.isListed(
            returnURLs: provider.returnURLs,
            allowedOrigins: application.settings.allowedOrigins
        )
    }
}
