import Applications
package import Description
import Domain
import Encodings
import HTTP
import Hummingbird

/// Mounts the routes of applications' pages for users.
///
/// A route also responds with a page if it fails, since a user reads the response.
struct PageRoutes: Sendable {
    let directory: ApplicationDirectory
    let refusals: RefusalLog
    let errors: any ErrorTable

    /// Where pages are mounted: a router, and the possible first segments of the pages' paths.
    struct Mount {
        let routes: DescribedRouter
        let segments: [String]
    }

    typealias Show = @Sendable (Request, APIContext, LoadedApplication, WebPage) async throws(Failure) -> Response

    /// Mounts a page that every application has.
    ///
    /// The page's path begins with the application's id. `mount` has the possible first segments: a parameter for the
    /// id, or a fixed text that may be an id.
    ///
    /// `operation` describes the page for the OpenAPI document, without the failures that every page has.
    func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: Operation,
        on mount: Mount,
        _ show: @escaping Show
    ) {
        let refused = operation.body == nil ? [] : [409, 413, 415, 422]
        let failures = ([400, 401, 500, 503] + refused).map(Reply.failurePage)
        mount.routes.describe(method, "/" + path, operation.or(failures), at: [.page])
        for first in mount.segments { page(method, path, below: first, on: mount.routes.router, show) }
    }

    private func page(
        _ method: HTTPRequest.Method,
        _ path: String,
        below first: String,
        on router: Router<APIContext>,
        _ show: @escaping Show
    ) {
        router.on(RouterPath("/\(first)/\(path)"), method: method) { request, context in
            var facts = RefusalLog.Facts()
            var page = WebPage(of: nil, for: request.headers)
            do throws(Failure) {
                let loaded = try directory.application(id: context.parameters["applicationId"] ?? first[...])
                facts.application = loaded.application.id
                page = WebPage(of: loaded.application, for: request.headers)
                return try await show(request, context, loaded, page)
            } catch {
                return page.failure(refusals.logged(error, facts, in: context), .failed, by: errors)
            }
        }
    }
}

extension Operation {
    /// Returns the OpenAPI description of a page, with the fields of its form as the body of the request.
    static func page(
        _ id: String,
        _ summary: String,
        parameters: [Parameter] = [],
        form: Schema? = nil,
        _ reply: Reply = .page,
        or further: [Reply] = []
    ) -> Operation {
        let body = form.map { Content($0, as: "application/x-www-form-urlencoded") }
        return Operation(id, under: "user", summary, parameters: parameters, body: body, reply, or: further)
    }
}

extension Schema {
    /// Returns the OpenAPI schema of a form with the given fields.
    static func fields(_ fields: KeyValuePairs<String, Schema>) -> Schema { anyObject.adding(optional: fields) }
}

extension Content {
    package static let html = Content(.string, as: "text/html")
}

extension ReplyHeader {
    package static let location = ReplyHeader(
        "Location",
        as: "Location",
        .string.format("uri-reference"),
        "Where the browser goes on."
    )
    fileprivate static let dialogCookie = ReplyHeader("Set-Cookie", as: "DialogCookie", .string, "The cookie.")
}

extension Reply {
    static let page = Reply(200, as: "Page", "A page for a user.", headers: [.requestID], [.html])

    static func failurePage(_ status: Int) -> Reply {
        Reply(
            status,
            as: "FailurePage",
            "A page that says why it did not work, and what to do.",
            headers: [.requestID],
            [.html]
        )
    }

    package static let dialogRedirect = Reply(
        303,
        as: "DialogRedirect",
        """
        The browser goes on to Facebook's login dialog, and keeps a cookie for ten minutes: \
        `__Host-federation-dialog`, or `federation-dialog` in a deployment without HTTPS.
        """,
        headers: [.requestID, .dialogCookie, .location]
    )
}
