import Applications
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Messaging

/// The form of a mailed link that Firebase's clients read (docs/protocols/firebase.md §6).
///
/// The link leads to a page of this service, which sends the browser on. An app may open it instead.
struct ActionLink: Sendable {
    /// The action of a link.
    ///
    /// The raw values are the values of the parameter `mode`.
    enum Mode: String {
        case resetPassword, verifyEmail, verifyAndChangeEmail, signIn

        /// The `requestType` of a call.
        var requestType: String {
            switch self {
            case .resetPassword: "PASSWORD_RESET"
            case .verifyEmail: "VERIFY_EMAIL"
            case .verifyAndChangeEmail: "VERIFY_AND_CHANGE_EMAIL"
            case .signIn: "EMAIL_SIGNIN"
            }
        }

        init?(requestType: String) {
            let all: [Mode] = [.resetPassword, .verifyEmail, .verifyAndChangeEmail, .signIn]
            guard let mode = all.first(where: { $0.requestType == requestType }) else { return nil }
            self = mode
        }

        init?(_ purpose: EmailTokenPurpose) {
            switch purpose {
            case .passwordReset: self = .resetPassword
            case .verification: self = .verifyEmail
            case .newAddress: self = .verifyAndChangeEmail
            default: return nil
            }
        }

        /// The purpose of the link; nil for a login.
        var purpose: EmailTokenPurpose? {
            switch self {
            case .resetPassword: .passwordReset
            case .verifyEmail: .verification
            case .verifyAndChangeEmail: .newAddress
            case .signIn: nil
            }
        }
    }

    static let path = "/__/auth/action"
    /// The names of the link's parameters.
    static let (mode, code, key, language, next) = ("mode", "oobCode", "apiKey", "lang", "continueUrl")

    let apiKey: String
    let locale: String?
    let continueURL: ContinueURL?

    /// Reads the form of the link that a call asks for.
    ///
    /// - Parameters:
    ///   - fields: The members of the call.
    ///   - request: The request.
    ///   - key: The API key of the client; nil for a backend. A backend's link has the id of the application instead.
    ///   - application: The application.
    /// - Throws: `INVALID_CONTINUE_URI`, `UNAUTHORIZED_DOMAIN`.
    init(
        _ fields: CallFields,
        of request: Request,
        by key: String?,
        in application: ServedApplication
    ) throws(Failure) {
        apiKey = key ?? application.loaded.application.id.text
        let language = HTTPField.Name("X-Firebase-Locale").flatMap { request.headers[$0] } ?? ""
        let isWord = language.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-_") }
        locale = isWord && (1...20).contains(language.utf8.count) ? language : nil
        continueURL = try fields.filled("continueUrl").map { (text) throws(Failure) in
            guard text.hasPrefix("https://") || text.hasPrefix("http://") else {
                throw .google("INVALID_CONTINUE_URI", "continueUrl must be a URL that begins with https:// or http://.")
            }
            guard let url = ContinueURL(text, in: application.loaded.application.settings) else {
                throw .google(
                    "UNAUTHORIZED_DOMAIN",
                    """
                    continueUrl must be a page of one of this app's origins. The operator can add an origin to the \
                    setting allowedOrigins.
                    """
                )
            }
            return url
        }
    }

    /// Returns the path and the query of the link.
    func path(_ mode: Mode, _ code: String) -> String {
        var parameters: [(name: String, value: String)] = [
            (Self.mode, mode.rawValue), (Self.code, code), (Self.key, apiKey), (Self.language, locale ?? "en"),
        ]
        if let continueURL { parameters.append((Self.next, continueURL.text)) }
        return Self.path + "?" + PercentEncoding.query(parameters)
    }

    var wish: LinkWish {
        LinkWish(locale: locale) { purpose, code in Mode(purpose).map { path($0, code) } ?? Self.path }
    }
}
