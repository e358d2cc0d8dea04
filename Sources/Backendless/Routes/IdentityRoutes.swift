import HTTP
import HTTPTypes
import Hummingbird
import KeptTokens
import Logins
import Vocabulary

/// What a user can do with the own login methods: list, link and unlink them, and use what is kept of the one that
/// opened the session.
struct IdentityRoutes {
    let linking: Linking
    let providerTokens: ProviderTokens

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/identities") { request, _, application in
            let methods = try await linking.loginMethods(ofUserOf: request.userToken, in: application)
            var writer = JSONWriter(capacity: 64 + 224 * methods.count)
            writer.array { writer in
                for method in methods { Self.write(method, into: &writer) }
            }
            return .json(writer)
        }
        routes.on(.post, "users/identities/:provider") { request, context, application in
            let provider = try context.provider()
            // JSON only: no form of another site can bring the header along (T-41).
            let body = try await LoginBody.read(request)
            let login = try LoginBody.parse(
                body,
                provider: provider,
                previousToken: nil,
                keyLabel: context.apiKey?.label,
                idempotencyKey: nil
            )
            let linked = try await linking.link(
                login,
                toUserOf: request.userToken,
                in: application,
                logger: context.logger
            )
            return .json(UserReply.write(linked.user), headers: .missing(linked.missingPermissions))
        }
        routes.on(.delete, "users/identities/:provider") { request, context, application in
            let method = LoginMethodSelection(
                provider: try Self.loginMethod(context.parameters.get("provider")),
                app: request.uri.queryParameters.get("appId")
            )
            try await linking.unlink(
                method,
                fromUserOf: request.userToken,
                in: application,
                logger: context.logger
            )
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        routes.on(.get, "users/identities/:provider/token") { request, context, application in
            let given = try await providerTokens.keptToken(
                ofSession: request.userToken,
                at: context.provider(),
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
        routes.on(.post, "users/identities/:provider/refresh") { request, context, application in
            let refreshed = try await providerTokens.refreshProfile(
                ofSession: request.userToken,
                at: context.provider(),
                in: application
            )
            return .json(UserReply.write(refreshed.user), headers: .missing(refreshed.missingPermissions))
        }
    }

    /// A provider's name, or the password's.
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
