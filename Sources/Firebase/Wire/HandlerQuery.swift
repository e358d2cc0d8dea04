import Applications
import Domain
import Encodings
import Providers

/// The parameters of the page of popups and redirects (docs/protocols/firebase.md §11).
struct HandlerQuery {
    /// The kind of the login, such as `signInViaPopup`.
    let authType: String
    let appName: String
    let providerID: String
    let provider: ProviderName
    let eventID: String?
    /// The address of the client's page.
    let redirectURL: String
    /// The origin of that page: one of the application's.
    let origin: String
    let wishes: DialogParameters

    private static let authTypes = ["signInVia", "linkVia", "reauthVia"].flatMap { [$0 + "Popup", $0 + "Redirect"] }

    /// Reads and checks the parameters of an address.
    ///
    /// - Throws: `UNAUTHORIZED_DOMAIN` if the page's origin is none of the application's; `OPERATION_NOT_ALLOWED`,
    ///   `INVALID_REQ_TYPE`.
    init(_ query: LenientQuery, in application: ServedApplication) throws(Failure) {
        func filled(_ name: String) -> String? { query[name].flatMap { $0.utf8.isEmpty ? nil : $0 } }
        guard filled("ibi") == nil, filled("apn") == nil else {
            throw .google(
                "OPERATION_NOT_ALLOWED",
                """
                This page is for browsers alone. A native app gets the credential from the provider's SDK, and logs in \
                by signInWithCredential.
                """
            )
        }
        guard filled("tid") == nil else {
            throw .google("UNSUPPORTED_TENANT_OPERATION", "This service has no tenants. Set no tenantId in the SDK.")
        }
        guard let authType = filled("authType"), Self.authTypes.contains(authType), let name = filled("appName"),
            let providerID = filled("providerId"), let redirectURL = filled("redirectUrl")
        else {
            throw .google(
                "INVALID_REQ_TYPE",
                """
                The address of this page must have appName, providerId, redirectUrl, and an authType such as \
                signInViaPopup. Open the page by the SDK.
                """
            )
        }
        let provider = try application.provider(providerID)
        let allowed = application.loaded.application.settings.allowedOrigins
        guard let origin = allowed.first(where: { ContinueURL.isPage(redirectURL, of: $0) }) else {
            throw .google(
                "UNAUTHORIZED_DOMAIN",
                """
                The origin of the page that began this login is not allowed. The operator can add the origin to the \
                setting allowedOrigins.
                """
            )
        }
        (self.authType, appName, self.providerID, self.provider) = (authType, name, providerID, provider)
        (eventID, self.redirectURL, self.origin) = (filled("eventId"), redirectURL, origin)
        wishes = Self.wishes(query)
    }

    var isPopup: Bool { authType.hasSuffix("Popup") }
    var isLink: Bool { authType.hasPrefix("link") }

    /// The parameters with which the login returns to the page, in order.
    var parameters: [(name: String, value: String)] {
        [
            ("appName", appName), ("authType", authType), ("providerId", providerID), ("redirectUrl", redirectURL),
        ] + (eventID.map { [("eventId", $0)] } ?? [])
    }

    /// Returns the parameters of the provider's dialog.
    static func wishes(_ query: LenientQuery) -> DialogParameters {
        wishes(scopes: query["scopes"], separator: ",", custom: query["customParameters"])
    }

    /// Returns the parameters of the provider's dialog.
    ///
    /// - Parameters:
    ///   - scopes: The permissions to ask for.
    ///   - separator: The character between the permissions.
    ///   - custom: Further parameters, as JSON. Unknown parameters are left out.
    /// - Returns: The parameters, not checked yet.
    static func wishes(scopes: String?, separator: Character, custom: String?) -> DialogParameters {
        let custom = custom.flatMap { try? JSONParser.parse($0, limits: .request).object }
        let permissions = scopes?.split(separator: separator).map(String.init) ?? []
        return DialogParameters(
            permissions: permissions.isEmpty ? nil : permissions,
            authType: custom?["auth_type"]?.string.flatMap(DialogAuthType.init),
            configID: nil,
            loginHint: custom?["login_hint"]?.string
        )
    }
}
