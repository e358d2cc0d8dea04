import Domain
import HTTP
import HTTPTypes

/// Maps failures to the error codes and HTTP statuses of the administration API, as in docs/administration.md#failures.
///
/// A failure that the public API also returns has the same error code there. The public API follows the codes of
/// Backendless.
struct OperatorProblem: NumberedErrorTable {
    static func row(of reason: Failure.Reason) -> (code: Int64, status: HTTPResponse.Status) {
        switch reason {
        case .operatorTokenInvalid: (8200, .unauthorized)
        case .operatorForbidden: (8201, .forbidden)
        case .preconditionRequired: (8202, .preconditionRequired)
        case .preconditionFailed: (8203, .preconditionFailed)
        case .conflict: (8204, .conflict)
        case .documentInvalid: (8205, .badRequest)
        case .malformedRequest: (8001, .badRequest)
        case .notOffered: (8007, .notFound)
        case .unsupportedMediaType: (8002, .unsupportedMediaType)
        case .payloadTooLarge: (8003, .contentTooLarge)
        case .notFound: (8004, .notFound)
        case .methodNotAllowed: (8005, .methodNotAllowed)
        case .targetTooLong: (8006, .uriTooLong)
        case .unknownApplication: (2002, .unauthorized)
        case .providerNotConfigured: (8101, .badRequest)
        case .providerMisconfigured: (8102, .serviceUnavailable)
        case .credentialMissing, .credentialAmbiguous: (8110, .badRequest)
        case .credentialWrongKind: (8111, .badRequest)
        case .credentialInvalid: (8112, .unauthorized)
        case .credentialExpired: (8113, .unauthorized)
        case .credentialRevoked: (8114, .unauthorized)
        case .userActionRequired: (8115, .unauthorized)
        case .permissionMissing: (8120, .forbidden)
        case .profileIncomplete: (8121, .unprocessableContent)
        case .mappingInvalid: (8130, .badRequest)
        case .mappingTargetNotAllowed: (8131, .badRequest)
        case .valueNotConvertible: (8132, .unprocessableContent)
        case .constraintViolation: (8133, .unprocessableContent)
        case .providerRateLimited: (8140, .serviceUnavailable)
        case .providerUnavailable: (8141, .serviceUnavailable)
        case .providerTimeout: (8142, .gatewayTimeout)
        case .providerBadReply: (8143, .serviceUnavailable)
        case .storeUnavailable: (8150, .serviceUnavailable)
        case .overloaded: (8151, .serviceUnavailable)
        case .queryTooSlow: (8153, .unprocessableContent)
        case .queryTooLarge: (8154, .unprocessableContent)
        case .storedValueUnreadable: (8152, .internalServerError)
        case .accountDisabled: (3090, .forbidden)
        case .tooManyAttempts: (3036, .tooManyRequests)
        case .passwordMissing: (3011, .badRequest)
        case .passwordNotAllowed: (8160, .unprocessableContent)
        case .propertyMissing: (3012, .badRequest)
        case .propertyUndeclared: (3010, .badRequest)
        case .propertyUndeclaredInUpdate: (3031, .badRequest)
        case .loginMissing: (3013, .badRequest)
        case .loginTaken: (3033, .conflict)
        case .loginTakenByOther: (3018, .conflict)
        case .emailInvalid: (3040, .badRequest)
        case .secondFactorInvalid: (8182, .unauthorized)
        case .pendingLoginInvalid: (8183, .unauthorized)
        case .factorReauthenticationRequired: (8184, .forbidden)
        case .factorNotOffered: (8185, .badRequest)
        case .tooManyFactors: (8186, .conflict)
        case .lastFactor: (8187, .conflict)
        case .codeNotDelivered: (8188, .serviceUnavailable)
        case .passkeyInvalid: (8189, .badRequest)
        case .mailOff: (8163, .serviceUnavailable)
        case .confirmationOff: (3103, .badRequest)
        case .roleUnknown: (2005, .notFound)
        case .roleFixed: (2007, .badRequest)
        case .rolePermanent: (2008, .badRequest)
        case .identityTaken: (8170, .conflict)
        case .lastLoginMethod: (8171, .conflict)
        case .rateLimited: (999, .tooManyRequests)
        // Failures that only clients can get. For an operator they are internal errors.
        case .queryInvalid, .queryForbidden, .creationForbidden, .deletionForbidden, .tableUnknown, .loginCancelled,
            .loginStateInvalid, .callbackRefused, .credentialReplayed, .sessionInvalid, .alreadyLoggedIn,
            .tooManySessions, .loginUnknown, .loginIncomplete, .loginInvalid, .emailUnconfirmed,
            .registrationDisabled, .newUsersClosed, .invitationRequired, .invitationInvalid, .notOwnRecord,
            .reauthenticationRequired, .secondFactorRequired, .secondFactorEnrolmentRequired, .guestInvalid,
            .linkInvalid, .accountExists, .roleAssignmentForbidden, .objectLoginForbidden, .serverKeyRequired,
            .tokensOff, .refreshTokenReplaced, .idempotencyKeyReused, .internal:
            (8000, .internalServerError)
        }
    }
}
