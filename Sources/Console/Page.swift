import Domain
import HTTPTypes
import Hummingbird
import NIOCore
import Pages

/// A page of the console.
struct Page {
    /// The section of the console to which a page belongs.
    enum Section: String, CaseIterable {
        case overview
        case applications
        case logins
        case audit
        case operators
        case service

        var title: String {
            switch self {
            case .overview: "Overview"
            case .applications: "Applications"
            case .logins: "Logins"
            case .audit: "Audit log"
            case .operators: "Operators"
            case .service: "Service"
            }
        }

        var path: String { self == .overview ? "/console" : "/console/\(rawValue)" }
    }

    let title: String
    let section: Section
    /// The links to the pages above this page, for its breadcrumb navigation; the outermost comes first.
    var trail: [(title: String, path: String)] = []
    var content: HTML
    /// The alert above the content, which says that an action was refused.
    ///
    /// Nil if the content itself shows the refusal, or if nothing was refused.
    var alert: HTML?
    var status = HTTPResponse.Status.ok
    /// Seconds after which a refused action may be retried.
    var retryAfter: String?
    /// The `federation` command that shows the same data, or makes the same change.
    var command: String?
    /// The call of the administration API that returns the same data, such as `GET /admin/v1/audit`.
    var call: String?
    /// The page's scripts, in addition to those of every page.
    var scripts: [Assets.Asset] = []

    /// Returns a page whose only content is the message of a refusal.
    static func refused(_ refusal: Refusal) -> Page {
        Page(title: "The request failed", section: .overview, content: refusal.alert).answering(refusal)
    }

    /// Returns a copy of the page with the HTTP status of a refusal; without a refusal, the page itself.
    func answering(_ refusal: Refusal?) -> Page {
        guard let refusal else { return self }
        var page = self
        page.status = refusal.status
        page.retryAfter = refusal.retryAfter
        return page
    }

    /// Returns a copy of the page with the HTTP status and the alert of a refusal; an alert that the page already has
    /// stays.
    func saying(_ refusal: Refusal) -> Page {
        var page = answering(refusal)
        page.alert = alert ?? refusal.alert
        return page
    }

    /// Returns a download of JSON with a file name.
    static func file(_ name: String, _ text: String) -> Response {
        let headers: HTTPFields = [
            .contentType: name.hasSuffix(".jsonl") ? "application/jsonl" : "application/json",
            .cacheControl: "no-store", .contentDisposition: "attachment; filename=\"\(name)\"",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// Returns a redirect after which the browser requests the other page by GET.
    static func redirect(to path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path, .cacheControl: "no-store"])
    }

    func response(to visit: Visit) throws -> Response {
        let sections = Section.allCases.map { other -> HTML in
            let isCurrent = other == section
            return """
                <li><a href="\(other.path)"\(" aria-current=\"page\"", if: isCurrent)>\(other.title)</a></li>
                """
        }
        let notice = status == .ok ? visit.query[Notice.field].flatMap { Notice(rawValue: $0) } : nil
        let crumbs = trail.map { crumb -> HTML in "<li><a href=\"\(crumb.path)\">\(crumb.title)</a></li>" }
        let same: HTML = """
            <aside class="same" aria-label="The same by other means">\
            \(command.map { "<p>Command <code>\($0)</code></p>" as HTML })\
            \(call.map { "<p>Call <code>\($0)</code></p>" as HTML })</aside>
            """
        var response = Self.document(
            title: title,
            status: status,
            scripts: scripts,
            """
            <a class="skip" href="#main">Skip to content</a>
            <header class="bar"><a class="brand" href="/console">federation</a>
            <nav aria-label="Sections"><ul>\(sections)</ul></nav>
            <div class="me"><a href="/console/sessions">\(visit.name)</a> <span class="tag">\(visit.role.rawValue)</span>\
            \(visit.form(to: "/console/sign-out", "<button class=\"quiet\">Log out</button>"))</div></header>
            <main id="main">\("<nav aria-label=\"Path\"><ol class=\"trail\">\(crumbs)</ol></nav>", if: !crumbs.isEmpty)
            <h1>\(title)</h1>
            \(notice?.html)\(alert)\(content)
            \(same, if: command != nil || call != nil)
            </main>
            """
        )
        response.headers[.retryAfter] = retryAfter
        return response
    }

    /// Returns a page for visitors who are not logged in.
    static func card(
        _ heading: String,
        title: String? = nil,
        refusal: Refusal? = nil,
        _ content: HTML
    ) -> Response {
        document(
            title: title ?? heading,
            status: refusal?.status ?? .ok,
            "<main id=\"main\" class=\"card\"><h1>\(heading)</h1>\(refusal?.alert)\(content)</main>"
        )
    }

    /// Returns a response with a whole HTML document, with the content security policy of all pages.
    static func document(
        title: String,
        status: HTTPResponse.Status = .ok,
        scripts: [Assets.Asset] = [],
        _ body: HTML
    ) -> Response {
        fragment(
            .document("\(title) – federation", head: "\(Assets.head)\(scripts.map(\.element))", body),
            status: status
        )
    }

    /// Returns a response with a part of an HTML document, which a script requests, with the content security policy of
    /// all pages.
    ///
    /// The policy allows only the console's own styles, scripts and form targets. No frame shows the response, and no
    /// cache stores it.
    static func fragment(_ html: HTML, status: HTTPResponse.Status = .ok) -> Response {
        .page(
            html,
            status: status,
            headers: .ofSessions,
            sources: "style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'",
            forms: "'self'"
        )
    }
}
