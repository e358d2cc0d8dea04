import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes that begin a login through the server: they return the address that a browser opens.
///
/// `DialogPages` serves that address and the pages after it.
struct DialogRoutes {
    let pages: DialogPages
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
        let provider = try context.provider()
        let url = try await pages.open(body.dialog, of: provider, for: application) { () throws(Failure) in
            try self.base(base, domain: body.callbackURLDomain, of: application)
        }
        if body.redirect { return .seeOther(url) }
        // Plain text: client SDKs would keep the quotes of a JSON string (docs/protocols/backendless.md §2.4).
        return .text(url)
    }

    /// Returns the base of a dialog's pages: that of the request, or the domain that the client names.
    ///
    /// By the configuration, the domain must lead to this service.
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
                callbackUrlDomain is not a host name of this application's. Leave it out, or ask the operator for the \
                names in the setting hostNames.
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
        "Begins a login through the server: gives the address that a browser opens.",
        more: """
            A server's key is refused, since the address would show it. The body may be empty. Where the login ends is \
            decided here: at redirectAfterLoginUrl, which must be one of the application's returnUrls; else, for a \
            page of one of its allowedOrigins that sends no codeChallenge, by a message to that page; else at the \
            first of the returnUrls. With a codeChallenge the address is that of Facebook's login dialog; without one \
            it is that of /users/oauth/facebook/start.
            """,
        body: .dialog,
        Reply(
            200,
            as: "DialogAddress",
            "The address that a browser opens to get to Facebook's login dialog.",
            headers: [.requestID],
            [Content(.string.format("uri"), as: "text/plain")]
        ),
        or: [.redirect]
    )

    fileprivate static let socialRequestUrl = requestUrl.again(
        "socialRequestUrl",
        "The same, by a path of client SDKs."
    )
}
