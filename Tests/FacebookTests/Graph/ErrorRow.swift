import Domain
import Encodings
@testable import Facebook
import Providers
import Testing

/// An error of Graph with a captured text, and the failure that the service must make of it.
struct ErrorRow: Sendable, CustomTestStringConvertible {
    enum Call: String, Sendable {
        case inspection = "debug_token"
        case profile = "/me"
    }

    let call: Call
    let status: Int
    let code: Int?
    let subcode: Int?
    let message: String
    let reason: Failure.Reason
    var isTransient = false
    var token = "EAAx"
    var signal = HealthSignal.answered
    /// The member of `errorData` that names the cause.
    var detail: (key: String, value: String)?

    var testDescription: String { "\(call.rawValue) \(status) \(code ?? 0)/\(subcode ?? 0) \(message)" }

    /// The body of the response.
    var body: String {
        var error: JSONObject = ["message": .string(message), "type": .string("OAuthException")]
        if let code { error.append("code", .integer(Int64(code))) }
        if let subcode { error.append("error_subcode", .integer(Int64(subcode))) }
        if isTransient { error.append("is_transient", .bool(true)) }
        error.append("fbtrace_id", .string("AUfDHCHqpctBdmnqRGLPQbQ"))
        return JSONValue.object(["error": .object(error)]).text
    }

    static func me(_ status: Int, _ code: Int?, _ message: String, _ reason: Failure.Reason) -> Self {
        Self(call: .profile, status: status, code: code, subcode: nil, message: message, reason: reason)
    }

    static func me(_ status: Int, _ code: Int, _ subcode: Int, _ message: String, _ reason: Failure.Reason) -> Self {
        Self(call: .profile, status: status, code: code, subcode: subcode, message: message, reason: reason)
    }

    static func debug(_ status: Int, _ code: Int?, _ message: String, _ reason: Failure.Reason) -> Self {
        Self(call: .inspection, status: status, code: code, subcode: nil, message: message, reason: reason)
    }

    func with(token: String) -> Self { changed { $0.token = token } }

    func with(_ signal: HealthSignal) -> Self { changed { $0.signal = signal } }

    func named(_ key: String, _ value: String) -> Self { changed { $0.detail = (key, value) } }

    var withoutCode: Self {
        Self(call: call, status: status, code: nil, subcode: subcode, message: message, reason: reason)
    }

    var calledTransient: Self { changed { $0.isTransient = true } }

    private func changed(_ change: (inout Self) -> Void) -> Self {
        var row = self
        change(&row)
        return row
    }
}

extension ErrorRow {
    static let subcodes: [ErrorRow] = [
        .me(400, 190, 458, "The user has not authorized application 123.", .credentialRevoked),
        .me(400, 190, 459, "You cannot access the app till you log in to www.facebook.com", .userActionRequired),
        .me(400, 190, 460, "The session has been invalidated", .credentialRevoked),
        .me(400, 190, 463, "Session has expired on Wednesday.", .credentialExpired),
        .me(400, 190, 464, "The user is not a confirmed user.", .userActionRequired),
        .me(400, 190, 466, "The session was invalidated explicitly using an API call.", .credentialRevoked),
        .me(400, 190, 467, "The session is invalid because the user logged out.", .credentialRevoked),
        .me(400, 190, 490, "The user is enrolled in a blocking, logged-in checkpoint", .userActionRequired),
        .me(400, 190, 490, "", .userActionRequired),
        .me(400, 190, 458, "", .credentialRevoked),
        .me(400, 190, 459, "", .userActionRequired),
        .me(400, 190, 460, "", .credentialRevoked),
        .me(400, 190, 463, "", .credentialExpired),
        .me(400, 190, 464, "", .userActionRequired),
        .me(400, 190, 466, "", .credentialRevoked),
        .me(400, 190, 467, "", .credentialRevoked),
        .me(400, 190, 492, "Invalid session", .credentialInvalid),
        .me(400, 102, 463, "Session has expired", .credentialExpired),
        .me(500, 190, 463, "Session has expired", .credentialExpired),
    ]

    /// Errors that are recognized by their texts: many captured errors have no subcode.
    static let texts: [ErrorRow] = [
        .me(
            400,
            190,
            "Error validating access token: Session has expired on Wednesday, 16-Nov-22.",
            .credentialExpired
        ),
        .me(
            400,
            190,
            "Error validating access token: Session does not match, expired at unix time 1.",
            .credentialExpired
        ),
        .me(400, 190, "The session has been invalidated because the user changed their password", .credentialRevoked),
        .me(400, 190, "Facebook has changed the session for security reasons.", .credentialRevoked),
        .me(400, 190, "The session is invalid because the user logged out.", .credentialRevoked),
        .me(400, 190, "The user has not authorized application 123.", .credentialRevoked),
        .me(400, 190, "You cannot access the app till you log in to www.facebook.com", .userActionRequired),
        .me(400, 190, "The user is enrolled in a blocking, logged-in checkpoint", .userActionRequired),
        .me(400, 100, "(#100) Tried accessing nonexisting field (email) on node type (Page)", .credentialInvalid),
        .me(400, 190, "Error validating access token: Session key is malformed.", .credentialInvalid),
        .me(400, 190, "The access token could not be decrypted", .credentialInvalid),
        .me(400, 190, "Invalid OAuth access token signature.", .credentialInvalid),
        .me(200, 190, "x", .credentialInvalid),
        .me(400, 102, "Session key invalid or no longer valid", .credentialInvalid),
        .me(400, 412, "The app is not installed", .credentialInvalid),
        .me(400, 450, "Session key specified has passed its expiration time", .credentialInvalid),
        .me(400, 452, "Session key invalid", .credentialInvalid),
        .me(400, 104, "An access token is required to request this resource.", .credentialInvalid),
        .me(400, 2500, "An active access token must be used to query information", .credentialInvalid),
        .me(400, 100, 33, "Unsupported get request. Object with ID 'me' does not exist", .credentialInvalid),
        .me(400, 368, "The action attempted has been deemed abusive", .userActionRequired),
    ]

    /// Errors for a text that is no access token: of the wrong kind, unless it looks like a damaged access token.
    static let kinds: [ErrorRow] = [
        .me(400, 190, "Bad signature", .credentialWrongKind).with(token: "x"),
        .debug(400, 190, "Bad signature", .credentialWrongKind).with(token: "x"),
        .debug(400, 190, "Invalid OAuth access token - Debug only access token", .credentialWrongKind),
        .me(400, 190, "Invalid OAuth access token - Cannot parse access token", .credentialWrongKind).with(
            token: "6bWB"
        ),
        .me(400, 190, "Invalid OAuth access token - Cannot parse access token", .credentialInvalid),
        .me(400, 190, "Malformed access token 6bWB", .credentialWrongKind).with(token: "6bWB"),
        .me(400, 190, "Malformed access token EAAx", .credentialInvalid),
        .me(400, 190, "Invalid OAuth access token.", .credentialWrongKind).with(token: "6bWB"),
        .me(400, 190, "Invalid OAuth access token data.", .credentialWrongKind).with(token: "6bWB"),
    ]

    static let ours: [ErrorRow] = [
        .debug(400, 190, "Invalid OAuth access token signature.", .providerMisconfigured),
        .debug(400, 190, "Error validating application. Cannot get application info", .providerMisconfigured),
        .debug(400, 101, "Error validating application. Invalid application ID.", .providerMisconfigured),
        .debug(400, 1, "Error validating client secret.", .providerMisconfigured),
        .debug(500, 1, "The app is configured as a desktop app", .providerMisconfigured).calledTransient,
        .debug(400, 100, "(#100) You must provide an app access token, or a user access token", .providerMisconfigured),
        .debug(400, 100, "(#100) The parameter input_token is required", .providerMisconfigured),
        .debug(400, 100, "API calls from the server require an appsecret_proof argument", .providerMisconfigured),
        .debug(400, 104, "An access token is required to request this resource.", .providerMisconfigured),
        .debug(403, 10, "(#10) Application does not have permission for this action", .providerMisconfigured),
        .debug(403, 200, "(#200) Provide valid app ID", .providerMisconfigured),
        .debug(400, 2500, "Unknown path components: /v99.0/debug_token", .providerMisconfigured),
        .me(400, 2500, "Unknown path components: /v99.0/me", .providerMisconfigured),
        .me(403, 200, "(#200) Provide valid app ID", .providerMisconfigured),
        .me(400, 100, "Invalid appsecret_proof provided in the API argument", .providerMisconfigured),
        .me(400, 100, "API calls from the server require an appsecret_proof argument", .providerMisconfigured),
        .me(400, 104, "Incorrect signature", .providerMisconfigured),
        .me(400, 3, "(#3) Application does not have the capability", .providerMisconfigured),
        .me(400, 2635, "(#2635) You are calling a deprecated version", .providerMisconfigured),
        .me(400, 200, "API access blocked.", .providerMisconfigured),
        .me(403, 10, "API access blocked.", .providerMisconfigured),
        .me(400, 10, "Cannot call API for app 123 on behalf of user 456", .providerMisconfigured),
        .me(403, 200, "(#200) Cannot call API for app 123 on behalf of user 456", .providerMisconfigured),
        .debug(400, 200, "API access blocked.", .providerMisconfigured),
        .debug(400, 12, "(#12) debug_token API is deprecated for versions v2.0 and higher", .providerMisconfigured),
    ]

    static let mappings: [ErrorRow] = [
        .me(400, 100, "(#100) Tried accessing nonexisting field (bio) on node type (User)", .mappingInvalid)
            .named("field", "bio"),
        .me(400, 100, "(#100) Unknown fields: my_name.", .mappingInvalid).named("field", "my_name"),
        .me(400, 2500, "Syntax error \"Field picture specified more than once. This is", .mappingInvalid)
            .named("field", "picture"),
        .me(400, 2500, "Syntax error \"Expected end of string\" at character 2: id)", .mappingInvalid),
        .me(400, 100, "(#100) Tried accessing nonexisting field (a\u{0301}<script>) on", .mappingInvalid).named(
            "field",
            "a"
        ),
        .me(400, 100, "nonexisting field (\(String(repeating: "a", count: 65)))", .mappingInvalid),
        .me(400, 100, "nonexisting field (", .mappingInvalid),
        .me(500, 1, "Please reduce the amount of data you're asking for, then retry", .mappingInvalid),
        .me(400, 12, "(#12) bio field is deprecated for versions v2.8 and higher", .mappingInvalid)
            .named("field", "bio"),
        .me(400, 12, "(#12) singular statuses API is deprecated for versions v2.4 and higher", .mappingInvalid)
            .named("field", "statuses"),
        .me(400, 12, "(#12) username is deprecated for versions v2.0 and higher", .mappingInvalid)
            .named("field", "username"),
        .me(400, 12, "(#12) b\u{0130}o field is deprecated for versions v2.8 and higher", .mappingInvalid)
            .named("field", "o"),
        .me(400, 12, "field is deprecated", .mappingInvalid).named("field", "field"),
        .me(400, 12, " is deprecated", .mappingInvalid),
        .me(400, 12, "", .mappingInvalid),
    ]

    /// Errors without a code, which are recognized by their texts.
    static let uncoded: [ErrorRow] =
        subcodes.filter { !$0.message.isEmpty }.map(\.withoutCode)
        + [
            .me(400, nil, "Error validating access token: Session has expired at unix time 1.", .credentialExpired),
            .me(400, nil, "The user has not authorized application 123.", .credentialRevoked),
            .me(400, nil, "You cannot access the app till you log in to www.facebook.com", .userActionRequired),
            .me(400, nil, "The user is not a confirmed user.", .userActionRequired),
            .me(400, nil, "Invalid OAuth access token signature.", .credentialInvalid),
            .me(400, nil, "Malformed access token 6bWB", .credentialWrongKind).with(token: "6bWB"),
            .me(400, nil, "Bad signature", .credentialWrongKind).with(token: "x"),
            .me(400, nil, "An access token is required to request this resource.", .credentialInvalid),
            .me(400, nil, "An active access token must be used to query information", .credentialInvalid),
            .me(400, nil, "Unsupported get request. Object with ID 'me' does not exist", .credentialInvalid),
            .debug(400, nil, "Invalid OAuth access token signature.", .providerMisconfigured),
            .debug(400, nil, "Error validating application. Cannot get application info", .providerMisconfigured),
            .debug(400, nil, "You must provide an app access token, or a user access token", .providerMisconfigured),
            .debug(400, nil, "Error validating client secret.", .providerMisconfigured),
            .me(400, nil, "Unknown path components: /v99.0/me", .providerMisconfigured),
            .me(400, nil, "API access blocked.", .providerMisconfigured),
            .me(400, nil, "Cannot call API for app 123 on behalf of user 456", .providerMisconfigured),
            .me(400, nil, "Invalid appsecret_proof provided in the API argument", .providerMisconfigured),
            .me(400, nil, "Tried accessing nonexisting field (bio) on node type (User)", .mappingInvalid)
                .named("field", "bio"),
            .me(400, nil, "bio field is deprecated for versions v2.8 and higher", .mappingInvalid)
                .named("field", "bio"),
            .me(400, nil, "(#12) bio field is deprecated", .mappingInvalid).named("field", "bio"),
            .me(403, nil, "(#200) Permissions error", .permissionMissing),
            .me(400, nil, "Requires user_birthday permission", .permissionMissing)
                .named("permission", "user_birthday"),
            .me(400, nil, "(#4) Application request limit reached", .providerRateLimited).with(byApp),
            .me(400, nil, "User request limit reached", .providerRateLimited),
            .me(400, nil, "An unknown error has occurred.", .providerUnavailable).with(.transient),
            .me(400, nil, "Service temporarily unavailable", .providerUnavailable).with(.transient),
            .me(400, nil, "(#) ?", .providerBadReply), .me(400, nil, "(#12", .providerBadReply),
            .me(400, nil, "(#99999999999999999999) ?", .providerBadReply),
        ]

    static let permissions: [ErrorRow] = [
        .me(403, 10, "(#10) Application does not have permission for this action", .permissionMissing),
        .me(403, 200, "(#200) Permissions error", .permissionMissing),
        .me(400, 299, "(#299) Requires user_birthday permission", .permissionMissing)
            .named("permission", "user_birthday"),
        .me(400, 200, "(#200) Requires extended permission: email", .permissionMissing).named("permission", "email"),
    ]

    static let byApp = HealthSignal.limited(RateLimit(seconds: nil))

    static let limits: [ErrorRow] =
        [4, 9, 32, 341, 613, 80000, 80004, 80014].map {
            .me(400, $0, "limit", .providerRateLimited).with(byApp).calledTransient
        } + [
            .debug(403, 4, "(#4) Application request limit reached", .providerRateLimited).with(byApp),
            .me(400, 17, "(#17) User request limit reached", .providerRateLimited),
            .debug(400, 17, "(#17) User request limit reached", .providerRateLimited),
            .me(429, nil, "slow down", .providerRateLimited).with(byApp),
            .me(429, 2, "slow down", .providerRateLimited).with(byApp),
        ]

    static let transient: [ErrorRow] = [
        .me(500, 1, "An unknown error has occurred.", .providerUnavailable).with(.transient),
        .me(400, 1, "An unknown error has occurred.", .providerUnavailable).with(.transient),
        .debug(503, 2, "(#2) Service temporarily unavailable", .providerUnavailable).with(.transient).calledTransient,
        .me(400, 2, "An unexpected error has occurred. Please retry", .providerUnavailable).with(.transient),
        .me(400, 190, "x", .providerUnavailable).with(.transient).calledTransient,
        .me(502, 9999, "?", .providerUnavailable).with(.transient),
        .me(500, nil, "?", .providerUnavailable).with(.transient),
    ]

    static let unknown: [ErrorRow] = [
        .me(400, 803, "(#803) Some of the aliases you requested do not exist", .providerBadReply),
        .debug(400, 1_609_005, "?", .providerBadReply),
        .me(400, nil, "?", .providerBadReply),
        .me(400, 80015, "?", .providerBadReply),
        .me(400, 300, "?", .providerBadReply),
    ]
}
