import Curl
package import Description
package import Domain
import Encodings
package import Providers

/// How an authorization server revokes a token, and with it what the user granted.
package struct TokenRevocation: Sendable, Equatable {
    /// How the request names the token.
    package enum Form: String, Sendable, CaseIterable {
        /// `POST` of a form with the token as `token` (RFC 7009 §2.1).
        case form
        /// `DELETE` with `{"access_token": …}`; the client authenticates by the header `Authorization`.
        case json
    }

    package var form = Form.form
    /// The address; `{clientId}` stands for the client's id.
    package var url = ""

    package init() {}

    /// The revocation of RFC 7009.
    package init(at url: String) { self.url = url }

    /// Describes the document.
    package static let description = ObjectDescription(
        TokenRevocation(),
        unknown: "is not a member of a revocation",
        [
            Field("form", \.form, .word, "Form", "How the request names the token.", isRequired: true),
            ServerAddress.ofClient(\.url),
        ]
    )
}

extension AuthorizationServer {
    /// Ends a token at the server.
    package func revoke(
        _ token: ProviderToken,
        by revocation: TokenRevocation,
        as client: ClientCredentials,
        until deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval {
        do throws(Failure) {
            let reply = try await send(token, by: revocation, as: client, until: deadline)
            switch reply.status {
            case 200...299: return .removed
            case 404 where revocation.form == .json, 422 where revocation.form == .json:
                return .tokenIsDead(refusedToken(cause: "\(service.api): the revocation has status \(reply.status)"))
            default:
                return .failed(
                    Failure(
                        .providerMisconfigured,
                        "\(service.name) refuses to revoke a token. The operator must check the client's settings.",
                        cause: "\(service.api): the revocation has status \(reply.status)"
                    )
                )
            }
        } catch {
            return .failed(error)
        }
    }

    private func send(
        _ token: ProviderToken,
        by revocation: TokenRevocation,
        as client: ClientCredentials,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Reply {
        let address = revocation.url.replacing("{clientId}", with: PercentEncoding.encode(client.id.text))
        let url = try ServerAddress.url(address, of: service)
        switch revocation.form {
        case .form:
            var form = Parameters()
            form.add("token", token.text.reveal())
            form.add("token_type_hint", token.kind == .refresh ? "refresh_token" : "access_token")
            let authorization = client.authenticate(&form)
            return try await self.revocation(
                .post,
                url,
                as: client.id,
                authorization: authorization,
                body: form.bytes,
                until: deadline
            )
        case .json:
            var writer = JSONWriter()
            writer.value(.object(["access_token": .string(token.text.reveal())]))
            return try await self.revocation(
                .delete,
                url,
                as: client.id,
                authorization: client.authorization,
                body: writer.bytes,
                type: "application/json",
                until: deadline
            )
        }
    }
}
