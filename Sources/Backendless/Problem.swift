import HTTP
import HTTPTypes
import Vocabulary

/// The one place where an error becomes a status and a code: the table of docs/api.md#errors.
struct Problem: ErrorTable {
    /// Code and status of each reason.
    ///
    /// Client SDKs look at the code. No reason has status 502: one SDK replaces the body of such a reply by a text of
    /// its own.
    static func row(of reason: Failure.Reason) -> (code: Int64, status: HTTPResponse.Status) {
        switch reason {
        case .malformedRequest: (8001, .badRequest)
        case .queryInvalid: (1017, .badRequest)
        case .queryForbidden: (1013, .forbidden)
        case .creationForbidden: (1002, .forbidden)
        case .deletionForbidden: (1014, .forbidden)
        case .tableUnknown: (1009, .notFound)
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
        case .credentialReplayed: (8116, .unauthorized)
        case .loginCancelled: (8117, .unauthorized)
        case .loginStateInvalid: (8118, .badRequest)
        case .callbackRefused: (8119, .forbidden)
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
        case .sessionInvalid: (3064, .unauthorized)
        case .accountDisabled: (3090, .forbidden)
        case .loginInvalid: (3003, .unauthorized)
        case .alreadyLoggedIn: (3002, .conflict)
        case .tooManySessions: (3044, .conflict)
        case .loginUnknown: (3020, .notFound)
        case .loginIncomplete: (3006, .badRequest)
        case .tooManyAttempts: (3036, .tooManyRequests)
        case .emailUnconfirmed: (3087, .forbidden)
        case .registrationDisabled, .newUsersClosed, .invitationRequired: (3009, .forbidden)
        case .invitationInvalid: (8165, .forbidden)
        case .passwordMissing: (3011, .badRequest)
        case .passwordNotAllowed: (8160, .unprocessableContent)
        case .propertyMissing: (3012, .badRequest)
        case .propertyUndeclared: (3010, .badRequest)
        case .propertyUndeclaredInUpdate: (3031, .badRequest)
        case .loginMissing: (3013, .badRequest)
        case .loginTaken: (3033, .conflict)
        case .loginTakenByOther: (3018, .conflict)
        case .emailInvalid: (3040, .badRequest)
        case .notOwnRecord: (3029, .forbidden)
        case .reauthenticationRequired: (8161, .forbidden)
        case .secondFactorRequired: (8180, .unauthorized)
        case .secondFactorEnrolmentRequired: (8181, .unauthorized)
        case .secondFactorInvalid: (8182, .unauthorized)
        case .pendingSignInInvalid: (8183, .unauthorized)
        case .factorReauthenticationRequired: (8184, .forbidden)
        case .factorNotOffered: (8185, .badRequest)
        case .tooManyFactors: (8186, .conflict)
        case .lastFactor: (8187, .conflict)
        case .codeNotDelivered: (8188, .serviceUnavailable)
        case .passkeyInvalid: (8189, .badRequest)
        case .idempotencyKeyReused: (8190, .unprocessableContent)
        case .guestInvalid: (8162, .badRequest)
        case .linkInvalid: (8164, .badRequest)
        case .mailOff: (8163, .serviceUnavailable)
        case .confirmationOff: (3103, .badRequest)
        case .roleUnknown: (2005, .notFound)
        case .roleFixed: (2007, .badRequest)
        case .rolePermanent: (2008, .badRequest)
        case .roleAssignmentForbidden: (2011, .forbidden)
        case .objectLoginForbidden: (2014, .forbidden)
        case .serverKeyRequired: (3054, .forbidden)
        case .identityTaken: (8170, .conflict)
        case .lastLoginMethod: (8171, .conflict)
        case .tokensOff: (8172, .badRequest)
        case .operatorTokenInvalid: (8200, .unauthorized)
        case .operatorForbidden: (8201, .forbidden)
        case .preconditionRequired: (8202, .preconditionRequired)
        case .preconditionFailed: (8203, .preconditionFailed)
        case .conflict: (8204, .conflict)
        case .documentInvalid: (8205, .badRequest)
        case .rateLimited: (999, .tooManyRequests)
        case .internal: (8000, .internalServerError)
        }
    }

    func status(of reason: Failure.Reason) -> HTTPResponse.Status { Self.row(of: reason).status }

    /// Writes the object that stands for a failure: `{"code":…,"message":…,"errorData":{"reason":…,"requestId":…,…}}`.
    func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", Self.row(of: failure.reason).code)
            writer.member("message", failure.message)
            writer.key("errorData")
            writer.object { writer in
                writer.member("reason", failure.reason.rawValue)
                writer.member("requestId", requestID)
                for member in failure.details.members { writer.member(member.key, member.value) }
            }
        }
    }
}
