import Curl
package import Description
package import Domain
import Encodings
import Providers

/// How an authorization server shows for which client an access token was issued.
///
/// A token of another client must not log anybody in: whoever runs that client has the tokens of its users.
///
/// As a document, it is an object such as
///
///     {"form": "query", "url": "https://oauth2.googleapis.com/tokeninfo", "clients": ["aud", "azp"],
///      "subject": "sub", "expires": "exp", "scopes": "scope"}
///
/// All members except `form`, `url` and `clients` may be absent. Members of the response are named by paths such as
/// `app.client_id`.
package struct TokenClientCheck: Sendable, Equatable {
    /// How the request carries the access token.
    package enum Form: String, Sendable, CaseIterable {
        /// `GET` with the token in the header `Authorization`.
        case bearer
        /// `GET` with the token as the parameter `access_token`.
        case query
        /// `POST` of a form with the token as `token`; the client authenticates (RFC 7662 §2.1).
        case introspection
        /// `POST` of `{"access_token": …}`; the client authenticates by the header `Authorization`.
        case json

        /// Whether the request has the client's credentials.
        var authenticatesClient: Bool { self == .introspection || self == .json }

        /// Returns whether a status of the response means that the server refuses the token.
        func refusesToken(_ status: Int) -> Bool {
            switch self {
            case .bearer: status == 401
            case .query: status == 400 || status == 401
            case .introspection: false
            case .json: status == 404 || status == 422
            }
        }
    }

    package var form = Form.introspection
    /// The address; `{clientId}` stands for the client's id.
    package var url = ""
    /// The members that name the client.
    ///
    /// The first must be there, and each that is there must name one of our clients.
    package var clients: [String] = []
    /// The member that must be `true`; nil for none.
    package var active: String?
    /// The member with the user's id; nil if the response does not show the user.
    package var subject: String?
    /// The member with the token's expiry in Unix seconds, as a number or as decimal digits.
    package var expires: String?
    /// The member with the scopes, as a list or as a text.
    package var scopes: String?

    package init() {}

    /// The check by token introspection (RFC 7662).
    package static func introspection(at url: String) -> TokenClientCheck {
        var check = TokenClientCheck()
        check.url = url
        check.clients = ["client_id"]
        check.active = "active"
        check.subject = "sub"
        check.expires = "exp"
        check.scopes = "scope"
        return check
    }

    /// Describes the document.
    package static let description = ObjectDescription(
        TokenClientCheck(),
        unknown: "is not a member of a token check",
        [
            Field("form", \.form, .word, "Form", "How the request carries the token.", isRequired: true),
            ServerAddress.ofClient(\.url),
            Field(
                "clients",
                \.clients,
                .list(of: .text(MemberPath.rule), max: 5),
                "Clients",
                "The members of the response that name the client.",
                isRequired: true
            ),
            .text("active", \.active, MemberPath.rule, "The member that must be true."),
            .text("subject", \.subject, MemberPath.rule, "The member with the user's id."),
            .text("expires", \.expires, MemberPath.rule, "The member with the expiry in Unix seconds."),
            .text("scopes", \.scopes, MemberPath.rule, "The member with the scopes."),
        ]
    )
}

/// An access token that was issued for one of our clients.
package struct CheckedToken: Sendable {
    package let client: ProviderAppID
    /// The user's id; nil if the server does not show it.
    package let subject: String?
    /// The expiry in Unix seconds; nil if there is none or it is unknown.
    package let expiresAt: Int64?
    /// The scopes; nil if the server does not list them.
    package let scopes: [String]?
}

extension AuthorizationServer {
    /// Checks that an access token was issued for one of our clients.
    ///
    /// - Parameters:
    ///   - token: The access token.
    ///   - check: How the server shows the client.
    ///   - client: The credentials for the request.
    ///   - ours: The clients for which the token may have been issued.
    ///   - deadline: The moment at which the response must be there.
    /// - Returns: The client, and what else the server shows.
    /// - Throws: `credential_invalid` for a token that the server refuses, or that was issued for another client;
    ///   `provider_misconfigured` if the server refuses the credentials; `provider_unavailable` and similar errors.
    package func checked(
        _ token: Secret,
        by check: TokenClientCheck,
        as client: ClientCredentials,
        issuedFor ours: [ProviderAppID],
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> CheckedToken {
        let request = try TokenClientRequest(token, check, client, of: service)
        let reply = try await self.check(request, as: client.id, until: deadline)
        let cause = "\(service.api): the check of an access token has status \(reply.status)"
        // A server that gets the client's credentials refuses with 401 these, and not the token.
        if reply.status == 401, check.form.authenticatesClient {
            throw Failure(
                .providerMisconfigured,
                "\(service.name) refuses this app. The operator must check its client id and secret.",
                retryAfter: 60,
                cause: cause
            )
        }
        guard reply.status == 200 else {
            throw check.form.refusesToken(reply.status) ? refusedToken(cause: cause) : .badReply(service, cause: cause)
        }
        func member(_ path: String?) -> JSONValue? { path.flatMap { MemberPath.value(at: $0, in: reply.object) } }
        if check.active != nil, member(check.active)?.bool != true {
            throw Failure(
                .credentialExpired,
                "The access token has expired or was revoked. Log in with \(service.name) again.",
                cause: "\(service.api): the access token is not active"
            )
        }
        // Introspection also answers for a refresh token.
        if check.form == .introspection, let type = reply.object["token_type"]?.string, !type.isSameWord(as: "bearer") {
            throw refusedToken(cause: "\(service.api): the token is no bearer token")
        }
        return CheckedToken(
            client: try issuedClient(check.clients.map(member), among: ours),
            subject: member(check.subject)?.identifier,
            expiresAt: member(check.expires).flatMap(Self.time),
            scopes: member(check.scopes).flatMap { value in
                value.array.map { $0.compactMap(\.string) } ?? value.string.map(Scopes.list)
            }
        )
    }

    /// Returns a time in Unix seconds; nil if the value is none, or out of the years 1970 to 9999.
    private static func time(_ value: JSONValue) -> Int64? {
        (value.integer ?? value.string.flatMap { Int64($0) }).flatMap { (0...253_402_300_799).contains($0) ? $0 : nil }
    }

    private func issuedClient(
        _ named: [JSONValue?],
        among ours: [ProviderAppID]
    ) throws(Failure) -> ProviderAppID {
        let others = Failure(
            .credentialInvalid,
            "This access token was issued for another \(service.name) app. Log in with the app id of this application.",
            cause: "\(service.api): the token's client is none of the application's"
        )
        var client: ProviderAppID?
        for value in named.compactMap(\.self) {
            guard let one = ours.first(where: { $0.text.hasSameBytes(as: value.identifier ?? "") }) else {
                throw others
            }
            client = client ?? one
        }
        guard let client, named.first != .some(nil) else { throw others }
        return client
    }
}
