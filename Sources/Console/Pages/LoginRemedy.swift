import AdministrationAPI
import Domain
import Pages

/// The remedy for the reason of a refused login: a short text, and a link to the page for it.
struct LoginRemedy {
    private let text: String
    private let place: String?

    /// - Parameters:
    ///   - reason: The reason in the log.
    ///   - application: The application of the login; nil or empty for none.
    ///   - provider: The provider of the login.
    init(_ reason: String, application: String?, provider: String?) {
        let application = application.flatMap { $0.isEmpty ? nil : $0 }
        func page(_ name: String) -> String? {
            application.map { application in
                provider.map { consolePath("applications", application, name, $0) }
                    ?? consolePath("applications", application)
            }
        }
        let (settings, mapping) = (page("providers"), page("mappings"))
        (text, place) =
            switch Failure.Reason(rawValue: reason) {
            case .credentialInvalid: ("Compare app id and secret with the provider's console", settings)
            case .credentialExpired, .credentialRevoked, .userActionRequired, .loginCancelled:
                ("The person logs in at the provider again", nil)
            case .credentialMissing, .credentialAmbiguous, .credentialWrongKind:
                ("The client sends something else than a credential", nil)
            case .permissionMissing, .profileIncomplete:
                ("The client has to ask for what the mapping needs", mapping)
            case .mappingInvalid, .mappingTargetNotAllowed, .valueNotConvertible, .constraintViolation,
                .propertyMissing, .propertyUndeclared:
                ("See what the mapping writes", mapping)
            case .providerNotConfigured, .providerMisconfigured: ("See the provider's settings", settings)
            case .providerRateLimited, .providerUnavailable, .providerTimeout, .providerBadReply:
                ("It is the provider's trouble; it passes, or its status page tells", nil)
            case .storeUnavailable, .overloaded: ("See whether all is well", "/console")
            case .loginInvalid, .tooManyAttempts: ("A forgotten password, or somebody who guesses", nil)
            case .invitationRequired, .invitationInvalid:
                (
                    "An operator invites the person",
                    application.map { consolePath("applications", $0, "invitations") }
                )
            case .accountDisabled: ("An operator has disabled the account", nil)
            default: ("", nil)
            }
    }

    /// The remedy on its own line; empty where none is known.
    var html: HTML {
        guard !text.isEmpty else { return "" }
        return place.map { "<br><small><a href=\"\($0)\">\(text)</a></small>" } ?? "<br><small>\(text)</small>"
    }
}
