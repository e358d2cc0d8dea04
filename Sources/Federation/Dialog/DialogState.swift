import Identity

/// What stands behind the `state` of a login dialog: everything that was decided when it was opened.
struct DialogState: Sendable {
    /// The app at Facebook that the person logs in to.
    let appID: String
    /// Where Facebook sends the browser back to, which the exchange of the code has to repeat.
    let redirectURI: String
    /// Our verifier of PKCE, whose challenge the dialog was opened with.
    let codeVerifier: Secret
    let mapping: JSONValue?
    let end: DialogEnd
    /// Unix seconds until which the browser may come back.
    let endsAt: Int64

    /// Seconds for which a person may be away at Facebook.
    static let seconds: Int64 = 600

    private enum Key {
        static let (appID, redirectURI, codeVerifier, mapping) = ("app", "redirectUri", "codeVerifier", "mapping")
        static let (returnURL, codeChallenge, origin, endsAt) = ("returnUrl", "codeChallenge", "origin", "endsAt")
    }

    /// As it is sealed.
    var text: Secret {
        var object: JSONObject = [
            Key.appID: .string(appID), Key.redirectURI: .string(redirectURI),
            Key.codeVerifier: .string(codeVerifier.reveal()), Key.endsAt: .integer(endsAt),
        ]
        if let mapping { object.append(Key.mapping, mapping) }
        switch end {
        case .redirect(let url, let codeChallenge):
            object.append(Key.returnURL, .string(url))
            if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        case .popup(let origin): object.append(Key.origin, .string(origin))
        }
        return Secret(JSONValue.object(object).text)
    }

    /// Nil for a text that another version wrote.
    init?(_ text: Secret) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            let appID = object[Key.appID]?.string, let redirectURI = object[Key.redirectURI]?.string,
            let codeVerifier = object[Key.codeVerifier]?.string, let endsAt = object[Key.endsAt]?.integer
        else { return nil }
        if let origin = object[Key.origin]?.string {
            end = .popup(origin: origin)
        } else if let url = object[Key.returnURL]?.string {
            end = .redirect(to: url, codeChallenge: object[Key.codeChallenge]?.string)
        } else {
            return nil
        }
        self.appID = appID
        self.redirectURI = redirectURI
        self.codeVerifier = Secret(codeVerifier)
        mapping = object[Key.mapping]
        self.endsAt = endsAt
    }

    init(
        appID: String,
        redirectURI: String,
        codeVerifier: Secret,
        mapping: JSONValue?,
        end: DialogEnd,
        endsAt: Int64
    ) {
        self.appID = appID
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        self.mapping = mapping
        self.end = end
        self.endsAt = endsAt
    }
}
