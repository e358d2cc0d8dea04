import Crypto
package import Curl
package import Domain
import Encodings
package import Providers

/// The token endpoint of an authorization server (RFC 6749 §3.2).
package struct TokenEndpoint: Sendable {
    private let server: AuthorizationServer
    private let url: HTTPURL
    /// The names of RFC 6749 §5.2 for the server's own names of errors.
    private let synonyms: [String: String]

    package init(of server: AuthorizationServer, at url: HTTPURL, errors synonyms: [String: String] = [:]) {
        (self.server, self.url, self.synonyms) = (server, url, synonyms)
    }

    /// The seconds for which the service refuses a code that was used.
    private static let codeSeconds: Int64 = 3600

    /// Exchanges an authorization code for tokens.
    ///
    /// The code is accepted only once in all instances together, whatever the outcome (decision D13).
    ///
    /// - Parameters:
    ///   - code: The code, and the parameters of its dialog.
    ///   - client: The client for which the code was issued.
    ///   - deadline: The moment at which the response must be there.
    ///   - claim: Marks the code as used, as in `CredentialVerifying.authenticate`.
    /// - Returns: The tokens.
    /// - Throws: `credential_invalid` for a code that was used or that the server refuses; `provider_misconfigured` if
    ///   the server refuses the client; `provider_unavailable` and similar errors.
    package func exchange(
        _ code: DialogCode,
        as client: ClientCredentials,
        until deadline: ContinuousClock.Instant,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> TokenResponse {
        guard try await claim(Array(SHA256.hash(data: Array(code.code.reveal().utf8))), Self.codeSeconds) else {
            throw .usedCode(of: server.service.name, cause: "an authorization code came again")
        }
        var form = Parameters()
        form.add("grant_type", "authorization_code")
        form.add("code", code.code.reveal())
        if let redirectURI = code.redirectURI { form.add("redirect_uri", redirectURI) }
        if let verifier = code.codeVerifier { form.add("code_verifier", verifier.reveal()) }
        switch try await send(form, as: client, until: deadline) {
        case .tokens(let tokens): return tokens
        case .refused(.invalidGrant, let cause, _):
            throw Failure(
                .credentialInvalid,
                "\(server.service.name) does not accept this authorization code. It is single-use. Log in again.",
                cause: cause
            )
        case .refused(_, let cause, _): throw refusedClient(cause)
        }
    }

    /// Exchanges a refresh token for a new access token (RFC 6749 §6).
    ///
    /// - Returns: The tokens; nil if the server no longer accepts the refresh token.
    /// - Throws: `provider_misconfigured`, `provider_unavailable` and similar errors.
    package func refresh(
        _ token: Secret,
        as client: ClientCredentials,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> TokenResponse? {
        var form = Parameters()
        form.add("grant_type", "refresh_token")
        form.add("refresh_token", token.reveal())
        switch try await send(form, as: client, until: deadline) {
        case .tokens(let tokens): return tokens
        case .refused(.invalidGrant, _, _): return nil
        case .refused(_, let cause, _): throw refusedClient(cause)
        }
    }

    private enum Answer {
        case tokens(TokenResponse)
        /// The error is nil if its name is unknown; the cause is for the log, and the words are the server's own.
        case refused(TokenError?, cause: String, words: String)
    }

    private func send(
        _ form: Parameters,
        as client: ClientCredentials,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Answer {
        let reply = try await server.token(form, as: client, at: url, until: deadline)
        // Some servers report an error with the status 200.
        guard reply.status != 200 || reply.object.present("error") != nil else {
            guard let tokens = TokenResponse(reply.object) else {
                throw .badReply(server.service, cause: "\(server.service.api): token_type is not Bearer")
            }
            return .tokens(tokens)
        }
        guard reply.object["error"]?.string != nil else {
            throw .badReply(server.service, cause: "\(server.service.api): the token endpoint answered \(reply.status)")
        }
        let error = TokenError(reply.object, synonyms: synonyms)
        let name = error?.rawValue ?? "no known error"
        return .refused(
            error,
            cause: "\(server.service.api): the token endpoint answered \(reply.status), \(name)",
            words: Self.words(of: reply)
        )
    }

    /// Checks a client's id and secret by a code that the server has never issued.
    ///
    /// A server looks at the client before it looks at the code.
    package func verdict(on client: ClientCredentials, until deadline: ContinuousClock.Instant) async -> AppVerdict {
        var form = Parameters()
        form.add("grant_type", "authorization_code")
        form.add("code", "federation-provider-check")
        form.add("redirect_uri", "https://federation.invalid/authorize")
        form.add("code_verifier", "federation-provider-check-federation-provider-check")
        let answer: Answer
        do throws(Failure) { answer = try await send(form, as: client, until: deadline) } catch {
            return AppVerdict(error)
        }
        let name = server.service.name
        switch answer {
        case .tokens, .refused(.invalidGrant, _, _): return AppVerdict()
        case .refused(.invalidRequest, _, let words):
            var verdict = AppVerdict()
            verdict.warnings.append("The secret could not be checked. \(name) says: \(words)")
            return verdict
        case .refused(.invalidClient, _, let words):
            return AppVerdict(
                problem: ("\(name) does not accept the client id and secret. It says: \(words)", .providerMisconfigured)
            )
        case .refused(_, _, let words):
            return AppVerdict(problem: ("\(name) refuses the client. It says: \(words)", .providerMisconfigured))
        }
    }

    /// Returns a server's own words about an error, for an operator.
    private static func words(of reply: AuthorizationServer.Reply) -> String {
        let texts = ["error", "error_description"].compactMap { reply.object[$0]?.string }
        let words = texts.isEmpty ? "status \(reply.status)" : texts.joined(separator: ": ")
        return String(
            String.UnicodeScalarView(words.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(300))
        )
    }

    private func refusedClient(_ cause: String) -> Failure {
        Failure(
            .providerMisconfigured,
            """
            \(server.service.name) refuses this app. The operator must check the client's settings, and can use \
            federation provider check.
            """,
            retryAfter: 60,
            cause: cause
        )
    }
}
