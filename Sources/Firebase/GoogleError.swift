import Domain
import Encodings
import HTTP
import HTTPTypes

/// Maps each failure to the name of an error that Firebase's client SDKs know (docs/protocols/firebase.md §9).
///
/// A response is `{"error": {"code": 400, "message": "NAME : text", "errors": […]}}`. The SDKs read the name, which
/// ends at the first space or colon. Some names log a user out (`TOKEN_EXPIRED`, `USER_NOT_FOUND`, `USER_DISABLED`,
/// `INVALID_ID_TOKEN`), so only the end of the user's own session or account gets these names.
struct GoogleError: ErrorTable {
    func status(of reason: Failure.Reason) -> HTTPResponse.Status {
        switch reason {
        case .notFound, .methodNotAllowed, .notOffered, .tableUnknown: .notFound
        case .payloadTooLarge: .contentTooLarge
        case .internal, .storedValueUnreadable: .internalServerError
        case .operatorTokenInvalid: .unauthorized
        case .operatorForbidden: .forbidden
        // Administration's clients repeat a request after 503.
        case .storeUnavailable, .overloaded, .refreshTokenReplaced: .serviceUnavailable
        default: .badRequest
        }
    }

    func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter) {
        let status = status(of: failure.reason)
        let generic = Self.status(of: failure.reason)
        var error: JSONObject = ["code": .integer(Int64(status.code))]
        if let generic { error.append("status", .string(generic)) }
        if let message = Self.message(of: failure, generic) {
            error.append("message", .string(message))
            let reason = failure.reason == .unknownApplication ? "keyInvalid" : "invalid"
            error.append(
                "errors",
                .array([
                    .object(["message": .string(message), "domain": .string("global"), "reason": .string(reason)])
                ])
            )
        }
        writer.object { $0.member("error", .object(error)) }
    }

    /// Returns the message; nil for a temporary failure.
    ///
    /// While a page loads, the SDK for the web logs the user out for each error with a message. Without a message, the
    /// SDK reports `network-request-failed`, and the user stays. A replaced refresh token counts as temporary, since
    /// the page then reads the newest one from its storage.
    private static func message(of failure: Failure, _ generic: String?) -> String? {
        switch generic {
        case "UNAVAILABLE", "INTERNAL": return nil
        // The SDKs make the code of the error from these words of Google's service.
        case "INVALID_ARGUMENT": return "API key not valid. Please pass a valid API key."
        default: break
        }
        let name = failure.nameOfGoogle ?? generic ?? name(of: failure.reason)
        return "\(name) : \(failure.message)"
    }

    /// Returns the status, in Google's words, of a failure without a name of its own; nil for other failures.
    private static func status(of reason: Failure.Reason) -> String? {
        switch reason {
        case .unknownApplication: "INVALID_ARGUMENT"
        case .notFound, .methodNotAllowed, .notOffered, .tableUnknown: "NOT_FOUND"
        case .storeUnavailable, .overloaded, .refreshTokenReplaced: "UNAVAILABLE"
        case .internal, .storedValueUnreadable: "INTERNAL"
        case .operatorTokenInvalid: "UNAUTHENTICATED"
        case .operatorForbidden: "PERMISSION_DENIED"
        default: nil
        }
    }

    /// Returns the name of an error.
    private static func name(of reason: Failure.Reason) -> String {
        switch reason {
        case .sessionInvalid: "TOKEN_EXPIRED"
        case .accountDisabled: "USER_DISABLED"
        case .loginInvalid, .loginUnknown: "INVALID_LOGIN_CREDENTIALS"
        case .emailUnconfirmed: "EMAIL_NOT_VERIFIED"
        case .loginTaken, .loginTakenByOther: "EMAIL_EXISTS"
        case .emailInvalid: "INVALID_EMAIL"
        case .loginMissing, .loginIncomplete: "MISSING_EMAIL"
        case .passwordMissing: "MISSING_PASSWORD"
        case .passwordNotAllowed: "WEAK_PASSWORD"
        case .identityTaken: "FEDERATED_USER_ID_ALREADY_LINKED"
        case .reauthenticationRequired, .factorReauthenticationRequired: "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
        case .linkInvalid: "INVALID_OOB_CODE"
        case .mailOff, .providerNotConfigured, .registrationDisabled, .deletionForbidden, .lastLoginMethod:
            "OPERATION_NOT_ALLOWED"
        case .newUsersClosed, .invitationRequired, .invitationInvalid: "ADMIN_ONLY_OPERATION"
        case .tooManyAttempts, .rateLimited, .providerRateLimited, .tooManySessions: "TOO_MANY_ATTEMPTS_TRY_LATER"
        case .credentialMissing, .credentialAmbiguous, .credentialWrongKind, .credentialInvalid, .credentialExpired,
            .credentialRevoked, .credentialReplayed, .userActionRequired, .permissionMissing, .profileIncomplete:
            "INVALID_IDP_RESPONSE"
        case .secondFactorInvalid: "INVALID_CODE"
        case .pendingLoginInvalid: "INVALID_MFA_PENDING_CREDENTIAL"
        case .malformedRequest, .unsupportedMediaType, .payloadTooLarge: "INVALID_ARGUMENT"
        default: reason.rawValue.uppercased()
        }
    }
}

extension Failure {
    private static let nameOfGoogle = "googleError"

    /// Firebase's own name for the failure; nil if there is none.
    var nameOfGoogle: String? { details[Self.nameOfGoogle]?.string }

    /// Returns a failure with a name of Firebase's own.
    static func google(_ name: String, _ message: String, cause: String? = nil) -> Failure {
        Failure(.malformedRequest, message, details: [nameOfGoogle: .string(name)], cause: cause)
    }

    /// Returns the failure under another name of Firebase's, if it has one of the given reasons.
    func named(_ name: String, for reasons: Failure.Reason...) -> Failure {
        reasons.contains(reason) ? .google(name, message, cause: cause ?? reason.rawValue) : self
    }
}
