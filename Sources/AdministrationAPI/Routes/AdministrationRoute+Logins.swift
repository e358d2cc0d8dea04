import Administration
import Description
import Domain
import Encodings
import HTTPTypes

extension AdministrationRoute {
    static let logins: [AdministrationRoute] = [
        .init(
            .get,
            "logins",
            .viewer,
            query: [
                .loginApplication, .loginMethod, .loginProvider, .loginOutcome, .loginReason, .loginSource, .loginUser,
                .loginSince, .loginAfter,
            ] + .page,
            Operation(
                "readLogins",
                "Lists successful and refused logins, newest first, or those since a login.",
                .value(.loginPage, "A page of logins.")
            )
        ) { call in
            var search = LoginSearch()
            search.application = call.query[.loginApplication]
            search.method = call.query[.loginMethod]
            search.provider = call.query[.loginProvider]
            search.outcome = call.query[.loginOutcome]
            search.reason = call.query[.loginReason]
            search.source = call.query[.loginSource]
            search.user = call.query[.loginUser]
            search.since = call.query[.loginSince]
            search.after = call.query[.loginAfter]
            return .page(try await call.administration.logins.list(search, call.page))
        },
        .init(
            .get,
            "logins/counts",
            .viewer,
            query: [.loginApplication, .loginHours],
            Operation(
                "countLogins",
                "Counts logins by method, provider and outcome, for charts.",
                .value(.loginCounts, "All logins of these hours, also those without a row in the log.")
            )
        ) { call in
            let hours = try call.query.integer(.loginHours)
            return .value(try await call.administration.logins.counts(of: call.query[.loginApplication], hours: hours))
        },
    ]
}

extension Parameter {
    static let loginApplication = Parameter(
        "application",
        in: .query,
        as: "LoginApplication",
        .applicationID,
        "Logins to this application."
    )
    static let loginMethod = Parameter("method", in: .query, .loginMethod, "Logins with this method.")
    static let loginProvider = Parameter(
        "provider",
        in: .query,
        .providerName,
        "Logins with the provider of this name."
    )
    static let loginOutcome = Parameter("outcome", in: .query, .loginOutcome, "Logins with this outcome.")
    static let loginReason = Parameter(
        "reason",
        in: .query,
        .string.examples("credential_expired"),
        "Logins refused for this reason, of the public API or of this one."
    )
    static let loginSource = Parameter(
        "source",
        in: .query,
        .string.length(1...100).examples("203.0.113.7"),
        "Logins from this address, as in the log."
    )
    static let loginUser = Parameter("user", in: .query, .uuid, "Logins of the user with this objectId.")
    static let loginSince = Parameter(
        "since",
        in: .query,
        .string.examples("2026-11-21T10:27:08Z", "1795256828000"),
        "Logins since this time: RFC 3339, or milliseconds since 1970."
    )
    static let loginAfter = Parameter(
        "after",
        in: .query,
        .string.pattern("^[0-9]{1,19}$"),
        """
        The id of a login: what was written since, the oldest first; `next` is then the `after` to go on with at \
        once. Not together with `cursor`.
        """
    )
    static let loginHours = Parameter(
        "hours",
        in: .query,
        .integer.range(1...168).byDefault(.integer(24)),
        "How far back."
    )
}

extension Schema {
    static let loginMethod = Schema.oneOf("provider", "password", "guest", "server", "passkey").named("LoginMethod")

    static let loginOutcome = Schema.oneOf("created", "updated", "refused").named("LoginOutcome")

    static let login = Schema.object([
        "id": .long,
        "happened": .moment,
        "application": .string,
        "method": .loginMethod,
        "provider": .string.nullable,
        "credential": .string.described(
            "The credential: access_token, id_token, code, login_code, password, passkey, guest, server_key or unclear."
        ),
        "outcome": .loginOutcome,
        "reason": .string.nullable.described("Why it was refused."),
        "cause": .string.nullable.described("The cause, as in the log."),
        "user": .uuid.nullable.described("Also null after the user is erased."),
        "request": .string.nullable.described("The X-Request-Id of the response."),
        "source": .string.nullable.described("null after the user is erased."),
        "userAgent": .string.nullable.described(
            "The header User-Agent, at most 200 bytes. Also null after the user is erased."
        ),
        "session": .string.nullable.described(
            "The id of the opened session. null for a refused login, and after the user is erased."
        ),
        "milliseconds": .long,
    ]).named("Login")

    static let loginPage = Schema.page(of: .login).adding(optional: [
        "unlisted": .object([
            "since": .long.described("Milliseconds since 1970 UTC: the hour of since, or of a day ago."),
            "logins": .long.described("Of the logins that match application, method, provider, outcome and reason."),
        ]).described(
            "Logins without a row in the log, because too many were refused at once. Absent with after."
        )
    ]).named("LoginPage")

    static let loginCounts = Schema.object([
        "since": .moment,
        "seconds": .integer.limited(to: [.integer(60), .integer(600), .integer(3600)]).described(
            "The length of a bucket."
        ),
        "buckets": .array(
            of: .object([
                "starts": .moment,
                "method": .loginMethod,
                "provider": .string.nullable,
                "outcome": .loginOutcome,
                "logins": .long,
                "unlisted": .long.described("Those without a row in the log."),
            ])
        ).described("In the order of time. Buckets without a login are left out."),
        "reasons": .array(
            of: .object([
                "method": .loginMethod,
                "provider": .string.nullable,
                "reason": .string,
                "logins": .long,
            ])
        ).described("The reasons of refused logins of the whole time, most frequent first."),
    ]).named("LoginCounts")
}
