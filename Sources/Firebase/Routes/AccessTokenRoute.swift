import Accounts
import Applications
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import PublicAPI

/// The route at which a service account gets its access token (RFC 7523, docs/protocols/firebase.md §10).
struct AccessTokenRoute {
    let serviceAccounts: ServiceAccounts
    let rateLimiter: RateLimiter
    let refusals: RefusalLog

    /// The host of Google's token endpoint.
    static let host = "oauth2.googleapis.com"

    func mount(on router: Router<APIContext>) {
        router.post(RouterPath(PublicAddress.serviceTokenPath)) { request, context in
            do throws(Failure) {
                try rateLimiter.take(.administration, of: nil, from: context.peer.limitedSource)
                let token = try await exchange(try await request.formBody(upTo: Request.bodyLimit))
                return Self.response([
                    "access_token": .string(token.reveal()), "token_type": .string("Bearer"),
                    "expires_in": .integer(ServiceAccounts.seconds),
                ])
            } catch {
                let error = refusals.logged(error, RefusalLog.Facts(), in: context)
                error.logCause(in: context)
                return Self.response(to: error)
            }
        }
    }

    private func exchange(_ form: FormFields) async throws(Failure) -> Secret {
        guard try form.value("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            throw .oauth("unsupported_grant_type", "The grant type must be JWT Bearer (RFC 7523).")
        }
        guard let assertion = try form.value("assertion"), !assertion.utf8.isEmpty else {
            throw .oauth("invalid_request", "Send the assertion.")
        }
        // Google's library for Python names Google's endpoint in every assertion, whatever the key file says.
        return try await serviceAccounts.accessToken(
            for: Secret(assertion),
            orSentTo: "https://\(Self.host)/token"
        )
    }

    /// Returns the response to a failure, in the form of RFC 6749 §5.2.
    ///
    /// Two names of errors are from RFC 8628 §3.5 and RFC 6749 §4.1.2.1.
    private static func response(to failure: Failure) -> Response {
        let status = GoogleError().status(of: failure.reason)
        let error: String
        switch failure.reason {
        case .credentialInvalid: error = "invalid_grant"
        case .rateLimited: error = "slow_down"
        case _ where status.code >= 500: error = "temporarily_unavailable"
        default: error = failure.details[Failure.oauthError]?.string ?? "invalid_request"
        }
        var response = response(
            ["error": .string(error), "error_description": .string(failure.message)],
            failure.reason == .rateLimited ? .tooManyRequests : status
        )
        if let seconds = GoogleError().retryAfter(failure) { response.headers[.retryAfter] = seconds }
        return response
    }

    private static func response(_ object: JSONObject, _ status: HTTPResponse.Status = .ok) -> Response {
        var response = Response.google(object)
        response.status = status
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension Failure {
    fileprivate static let oauthError = "oauthError"

    /// Returns a failure with the name of an error of OAuth.
    fileprivate static func oauth(_ error: String, _ message: String) -> Failure {
        Failure(.malformedRequest, message, details: [oauthError: .string(error)])
    }
}
