import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes that begin a login in a provider's dialog.
///
/// The service, and not the app, sends the browser to the dialog. The routes return a URL that the client opens in a
/// browser. `DialogPages` serves that URL and the pages after it.
struct DialogRoutes {
    let pages: DialogPages
    let opening: DialogOpening
    let address: PublicAddress

    func mount(on routes: ApplicationRoutes) {
        for (path, operation) in [
            ("users/oauth/:provider/request_url", Operation.requestUrl),
            ("users/social/oauth/:provider/request_url", .socialRequestUrl),
        ] {
            routes.on(.post, path, operation) { request, context, application in
                try await open(request, context, application)
            }
        }
        pages.mount(on: routes, andReturnsTo: [("users/social/:provider", "social")])
    }

    private func open(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> Response {
        let bytes = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
        let base = try context.base(of: request)
        let body = try DialogBody(bytes, origin: request.headers[.origin])
        let provider = try context.provider(of: application)
        let url = try await opening.open(body.dialog, of: provider, for: application) { () throws(Failure) in
            try self.base(base, domain: body.callbackURLDomain, of: application)
        }
        if body.redirect { return .seeOther(url) }
        // Plain text, since client SDKs would keep the quotes of a JSON string (docs/protocols/backendless.md §2.4).
        return .text(url)
    }

    /// Returns the base path with which the URLs of a dialog begin.
    ///
    /// If the client names no domain, it is the base path of the request. A domain must be a host name of the
    /// application, or the host of the service's public URL.
    private func base(
        _ base: PublicBase,
        domain: String?,
        of loaded: LoadedApplication
    ) throws(Failure) -> PublicBase {
        guard let domain else { return base }
        if let name = loaded.application.settings.hostNames.first(where: { $0.hasSameBytes(as: domain) }) {
            return .host(name)
        }
        guard case .key = base, address.host?.hasSameBytes(as: domain) == true else {
            throw Failure(
                .malformedRequest,
                """
                callbackUrlDomain is not a host name of this application. Leave it out, or ask the operator to add it \
                to the setting hostNames.
                """
            )
        }
        return base
    }
}

extension Operation {
    fileprivate static let requestUrl = Operation(
        "requestUrl",
        under: "login",
        "Starts a login through the server, and returns the address for the browser.",
        more: """
            A server key is refused, because the address would show it. The body may be empty. The login ends at \
            redirectAfterLoginUrl, which must be one of the application's returnUrls. Without it, a request without \
            codeChallenge from a page of the allowedOrigins ends with a message to that page. Otherwise the login ends \
            at the first of the returnUrls. With a codeChallenge the address is that of Facebook's login dialog, \
            without one it is /users/oauth/facebook/start.
            """,
        body: .dialog,
        Reply(
            200,
            as: "DialogAddress",
            "The address that leads the browser to Facebook's login dialog.",
            headers: [.requestID],
            [Content(.string.format("uri"), as: "text/plain")]
        ),
        or: [.redirect]
    )

    fileprivate static let socialRequestUrl = requestUrl.again(
        "socialRequestUrl",
        "The same, at a path of client SDKs."
    )
}
