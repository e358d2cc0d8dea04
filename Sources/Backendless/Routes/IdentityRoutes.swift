import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The routes by which a user can list, link and unlink login methods.
///
/// Two further routes use the provider token that the service keeps for the identity with which the user logged in. One
/// returns the token. The other reads the profile from the provider again.
struct IdentityRoutes {
    let linking: Linking
    let providerTokens: ProviderTokens

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/identities", .listIdentities) { request, _, application in
            let methods = try await linking.loginMethods(ofUserOf: request.userSession, in: application)
            var writer = JSONWriter(capacity: 64 + 224 * methods.count)
            writer.array { writer in
                for method in methods { Self.write(method, into: &writer) }
            }
            return .json(writer)
        }
        routes.on(.post, "users/identities/:provider", .linkIdentity) { request, context, application in
            let provider = try context.provider(of: application)
            // Only JSON is accepted. A form of another site cannot send the header `user-token` (T-41).
            let body = try await LoginBody.read(request)
            let login = try LoginBody.parse(
                body,
                provider: provider,
                previousSession: nil,
                keyLabel: context.apiKey?.label,
                idempotencyKey: nil
            )
            let linked = try await linking.link(
                login,
                toUserOf: request.userSession,
                in: application,
                logger: context.logger
            )
            return .json(UserReply.write(linked.user), headers: .missing(linked.missingPermissions))
        }
        routes.on(.delete, "users/identities/:provider", .unlinkIdentity) { request, context, application in
            let method = LoginMethodSelection(
                provider: try Self.loginMethod(context.parameters.get("provider")),
                app: request.uri.queryParameters.get("appId")
            )
            try await linking.unlink(
                method,
                fromUserOf: request.userSession,
                in: application,
                logger: context.logger
            )
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        routes.on(.get, "users/identities/:provider/token", .readKeptToken) { request, context, application in
            let given = try await providerTokens.keptToken(
                ofSession: request.userSession,
                at: context.provider(of: application),
                in: application
            )
            var writer = JSONWriter(capacity: 512)
            writer.object { writer in
                writer.member("provider", given.provider.text)
                writer.member("appId", given.appID.text)
                writer.member("token", given.token.text.reveal())
                writer.member("kind", given.token.kind.rawValue)
                let milliseconds = given.token.expiresAt.map { $0.multipliedReportingOverflow(by: 1000).partialValue }
                writer.member("expires", milliseconds.map(JSONValue.integer) ?? .null)
            }
            return .json(writer)
        }
        routes.on(.post, "users/identities/:provider/refresh", .refreshProfile) { request, context, application in
            let refreshed = try await providerTokens.refreshProfile(
                ofSession: request.userSession,
                at: context.provider(of: application),
                in: application
            )
            return .json(UserReply.write(refreshed.user), headers: .missing(refreshed.missingPermissions))
        }
    }

    /// Checks and returns the name of a login method: the name of a provider, or `password`.
    private static func loginMethod(_ name: String?) throws(Failure) -> String {
        if let name, name.utf8.count == 8, name.lowercased().hasSameBytes(as: ProviderName.password.text) {
            return ProviderName.password.text
        }
        return try ProviderName(inPath: name).text
    }

    private static func write(_ method: LoginMethod, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("provider", method.provider)
            writer.member("appId", method.app.map(JSONValue.string) ?? .null)
            writer.member("subject", method.subject)
            writer.member("created", method.created)
            writer.member("lastUsed", method.lastUsed.map(JSONValue.integer) ?? .null)
            writer.member("current", .bool(method.isCurrent))
            writer.member("revoked", .bool(method.isRevoked))
        }
    }
}

extension Operation {
    fileprivate static let listIdentities = Operation(
        "listIdentities",
        under: "user",
        "Lists the login methods of the session's user: identities, the password and passkeys.",
        marks: .session,
        .success("Oldest first.", .array(of: .loginMethod))
    )

    fileprivate static let linkIdentity = Operation(
        "linkIdentity",
        under: "user",
        "Links the identity of a new credential to the session's user.",
        more: """
            The body is that of a login. The mapping is applied as at a login with the identity, except that values \
            for the first login only fill empty properties. The session counts as reauthenticated. With \
            identity_taken, errorData.owner tells whose identity it is.
            """,
        marks: .session,
        body: .login,
        .refreshedUser,
        or: [.conflict, .unprocessable, .timeout]
    )

    fileprivate static let unlinkIdentity = Operation(
        "unlinkIdentity",
        under: "user",
        "Removes a login method of the session's user, except the last one.",
        more: """
            Needs an authentication within the last five minutes. Sessions of the login method are revoked, except the \
            session of this request.
            """,
        marks: .session,
        parameters: [
            Parameter(
                "provider",
                in: .path,
                .providerInPath.examples("facebook", "password"),
                "A provider or `password`, in upper or lower case."
            ), Parameter("appId", in: .query, .string, "Which of several identities of the provider."),
        ],
        .success("The login method is removed.", status: 204),
        or: [.badRequest, .conflict]
    )

    fileprivate static let readKeptToken = Operation(
        "readKeptToken",
        under: "user",
        "Reads the stored provider token of the identity that opened the session.",
        more: "Only if the application stores and returns tokens, otherwise 404.",
        marks: .session,
        .success("The token.", .keptToken)
    )

    fileprivate static let refreshProfile = Operation(
        "refreshProfile",
        under: "user",
        "Reads the profile of the session's identity again, and applies the stored mapping.",
        more: """
            Needs a stored access token, otherwise 404. It is not a login: no session is opened, and lastLogin is \
            unchanged.
            """,
        marks: .session,
        .refreshedUser,
        or: [.badRequest, .unprocessable, .timeout]
    )
}

extension Schema {
    fileprivate static let loginMethod = object([
        "provider": .string.examples("facebook", "password", "passkey"),
        "appId": .string.nullable.described(
            "The provider's app of the subject. null for Twitter, passwords and passkeys."
        ),
        "subject": .string.described(
            "The user's id at the provider. For a password the login name, for a passkey the id of the factor."
        ),
        "created": .moment.described("Milliseconds since 1970 UTC. For a password, when it was set."),
        "lastUsed": .moment.nullable.described("The last login with it. null for a password."),
        "current": .boolean.described("Whether it opened the session of this request."),
        "revoked": .boolean.described(
            "Whether the provider has revoked the access. The next login with it clears this."
        ),
    ]).named("LoginMethod")

    fileprivate static let keptToken = object([
        "provider": .string.const("facebook"),
        "appId": .string.described("The Facebook app that the token is for."),
        "token": .string,
        "kind": .oneOf("access", "id").described("A token for Graph or of Limited Login."),
        "expires": .moment.nullable.described("Milliseconds since 1970 UTC. null: never or unknown."),
    ]).named("KeptToken")
}

extension Reply {
    fileprivate static let refreshedUser = success(
        "The user, with the values of the profile.",
        as: "RefreshedUser",
        headers: [.missingPermissions],
        .user
    )
}
