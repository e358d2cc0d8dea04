import HTTP
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// A page of the console.
struct Page {
    /// Where it stands.
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
    /// The pages above it, the outermost first.
    var trail: [(title: String, path: String)] = []
    var content: HTML
    var status = HTTPResponse.Status.ok
    /// Seconds after which what was refused may be tried again.
    var retryAfter: String?
    /// The command that does the same.
    var command: String?
    /// The call that does the same, such as `GET /admin/v1/audit`.
    var call: String?
    /// What the page has of scripts besides those of every page.
    var scripts: [Assets.Asset] = []

    /// Says what was refused in place of a page.
    static func refused(_ refusal: Refusal) -> Page {
        Page(title: "This did not work", section: .overview, content: refusal.alert).answering(refusal)
    }

    /// The same page as the answer to what was refused, if anything was.
    func answering(_ refusal: Refusal?) -> Page {
        guard let refusal else { return self }
        var page = self
        page.status = refusal.status
        page.retryAfter = refusal.retryAfter
        return page
    }

    /// JSON to be kept, under a name.
    static func file(_ name: String, _ text: String) -> Response {
        let headers: HTTPFields = [
            .contentType: name.hasSuffix(".jsonl") ? "application/jsonl" : "application/json",
            .cacheControl: "no-store", .contentDisposition: "attachment; filename=\"\(name)\"",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// To another page, by GET.
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
            \(command.map { "<p>Command <code>\($0)</code></p>" } ?? "" as HTML)\
            \(call.map { "<p>Call <code>\($0)</code></p>" } ?? "" as HTML)</aside>
            """
        var response = Self.document(
            title: title,
            status: status,
            scripts: scripts,
            """
            <a class="skip" href="#main">Skip to the content</a>
            <header class="bar"><a class="brand" href="/console">federation</a>
            <nav aria-label="Sections"><ul>\(sections)</ul></nav>
            <div class="me"><a href="/console/sessions">\(visit.name)</a> <span class="tag">\(visit.role.rawValue)</span>\
            \(visit.form(to: "/console/sign-out", "<button class=\"quiet\">Sign out</button>"))</div></header>
            <main id="main">\("<nav aria-label=\"Path\"><ol class=\"trail\">\(crumbs)</ol></nav>", if: !crumbs.isEmpty)
            <h1>\(title)</h1>
            \(notice.map(\.html) ?? "")\(content)
            \(same, if: command != nil || call != nil)
            </main>
            """
        )
        response.headers[.retryAfter] = retryAfter
        return response
    }

    /// A document with the policy of all pages.
    static func document(
        title: String,
        status: HTTPResponse.Status = .ok,
        scripts: [Assets.Asset] = [],
        _ body: HTML
    ) -> Response {
        fragment(
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title) – federation</title>
            \(Assets.head)\(scripts.map(\.element))
            </head>
            <body>
            \(body)
            </body>
            </html>

            """,
            status: status
        )
    }

    /// A part of a document, for a script, with the policy of all pages: it loads nothing but our own style and
    /// scripts, is shown in no frame, sends forms to us alone, and is kept by nobody.
    static func fragment(_ html: HTML, status: HTTPResponse.Status = .ok) -> Response {
        let headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8",
            .cacheControl: "no-store",
            .contentSecurityPolicy: """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
            form-action 'self'; base-uri 'none'; frame-ancestors 'none'
            """,
            // With none at all, browsers would not say of a form where it comes from.
            .referrerPolicy: "same-origin",
            .openerPolicy: "same-origin",
            .resourcePolicy: "same-origin",
        ]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html.text)))
    }
}
