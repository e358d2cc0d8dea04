import AdministrationAPI
import Domain
import Pages

/// The remedy for a refused login: a short text, and a link to the page of the console on which an operator can apply
/// it.
struct LoginRemedy {
    private let text: String
    private let place: String?

    /// Finds the remedy.
    ///
    /// - Parameters:
    ///   - reason: The reason for the refusal, as the log of logins names it.
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
                ("The user logs in with the provider again", nil)
            case .credentialMissing, .credentialAmbiguous, .credentialWrongKind:
                ("The client must send exactly one valid credential", nil)
            case .permissionMissing, .profileIncomplete:
                ("The client must request the permissions that the mapping needs", mapping)
            case .mappingInvalid, .mappingTargetNotAllowed, .valueNotConvertible, .constraintViolation,
                .propertyMissing, .propertyUndeclared:
                ("Check the mapping", mapping)
            case .providerNotConfigured, .providerMisconfigured: ("Check the provider's settings", settings)
            case .providerRateLimited, .providerUnavailable, .providerTimeout, .providerBadReply:
                ("A problem at the provider: wait, or check its status page", nil)
            case .storeUnavailable, .overloaded: ("Check the health of the service", "/console")
            case .loginInvalid, .tooManyAttempts: ("A forgotten password, or an attempt to guess it", nil)
            case .invitationRequired, .invitationInvalid:
                (
                    "Invite the user",
                    application.map { consolePath("applications", $0, "invitations") }
                )
            case .accountDisabled: ("The account is disabled", nil)
            default: ("", nil)
            }
    }

    /// The remedy on a line of its own; empty if no remedy is known.
    var html: HTML {
        guard !text.isEmpty else { return "" }
        return place.map { "<br><small><a href=\"\($0)\">\(text)</a></small>" } ?? "<br><small>\(text)</small>"
    }
}
