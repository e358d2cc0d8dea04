import Applications
import Providers
import Vocabulary

/// What is decided when a login through the server begins, and still holds when it ends.
struct DialogPlan: Sendable {
    /// Whose dialog it is: what one provider sends back is nothing to another.
    let provider: ProviderName
    /// The app at the provider that the person logs in to.
    let appID: String
    /// Where the provider sends the browser back to, which the exchange of the code has to repeat.
    let redirectURI: String
    let mapping: JSONValue?
    let end: DialogEnd
    /// Whether the code at the end is for a session that links the identity, and logs nobody in by itself.
    let isForLinking: Bool
    /// Whether the account page takes the code at the end.
    let isForAccountPage: Bool
    /// The invitation that a new person presents.
    let invitation: InvitationToken?

    /// Most bytes of a mapping that travels in addresses.
    static let mostMappingBytes = 2048

    private enum Key {
        static let (provider, appID, redirectURI, mapping) = ("provider", "app", "redirectUri", "mapping")
        static let (returnURL, codeChallenge, origin) = ("returnUrl", "codeChallenge", "origin")
        static let (linking, accountPage, invitation) = ("linking", "accountPage", "invitation")
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

    /// Its members in what is sealed.
    var members: [JSONObject.Member] {
        var object: JSONObject = [
            Key.provider: .string(provider.text), Key.appID: .string(appID), Key.redirectURI: .string(redirectURI),
        ]
        if let mapping { object.append(Key.mapping, mapping) }
        if isForLinking { object.append(Key.linking, .bool(true)) }
        if isForAccountPage { object.append(Key.accountPage, .bool(true)) }
        if let invitation { object.append(Key.invitation, .string(invitation.sealed)) }
        switch end {
        case .redirect(let url, let codeChallenge):
            object.append(Key.returnURL, .string(url))
            if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        case .popup(let origin): object.append(Key.origin, .string(origin))
        }
        return object.members
    }

    /// Nil when the members are not there.
    init?(_ object: JSONObject) {
        guard let provider = object[Key.provider]?.string.flatMap(ProviderName.init),
            let appID = object[Key.appID]?.string, let redirectURI = object[Key.redirectURI]?.string
        else { return nil }
        if let origin = object[Key.origin]?.string {
            end = .popup(origin: origin)
        } else if let url = object[Key.returnURL]?.string {
            end = .redirect(to: url, codeChallenge: object[Key.codeChallenge]?.string)
        } else {
            return nil
        }
        self.provider = provider
        self.appID = appID
        self.redirectURI = redirectURI
        mapping = object[Key.mapping]
        isForLinking = object[Key.linking]?.bool ?? false
        isForAccountPage = object[Key.accountPage]?.bool ?? false
        invitation = InvitationToken(sealed: object[Key.invitation]?.string)
    }

    /// Whether it is of the provider, and the operator, who may have taken the address or the origin away since, still
    /// lists it; or has the account page whose address it is.
    func isListed(by application: Application, at provider: any DialogOffering) -> Bool {
        guard self.provider == provider.name else { return false }
        guard !isForAccountPage else { return application.settings.pages.account }
        return end.isListed(
            returnURLs: provider.returnURLs,
            allowedOrigins: application.settings.allowedOrigins
        )
    }
}
