import AdministrationAPI
import Domain
import Encodings
import HTTP
import Hummingbird
import Pages

/// The pages for logging in and out in a browser.
///
/// An operator logs in by a link from the command line, or by a token.
enum ConsoleLoginPage {
    static let path = "/console/login"

    /// The commands that print a link to the console: one for the first operator, the other for an existing operator.
    static let firstOperator = "federation console"
    static let loginLink = "federation console NAME"

    static func path(returningTo path: String) -> String {
        HTML.link(Self.path, [("to", path == "/console" ? "" : path)])
    }

    /// Returns the path to show after the login: the given path if it is a path of the console, otherwise the overview.
    static func target(_ path: String?) -> String {
        guard let path, path == "/console" || path.hasPrefix("/console/") || path.hasPrefix("/console?"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }), !path.hasPrefix(Self.path)
        else { return "/console" }
        return path
    }

    static func document(link: String?, to target: String, _ refusal: Refusal? = nil) -> Response {
        let token: HTML =
            if let link {
                "<p>The link logs its operator in, once.</p>\(HTML.hidden("link", link))"
            } else {
                HTML.field(
                    "token",
                    "Operator token",
                    type: "password",
                    hint:
                        """
                        Create one with: federation set operators/NAME/tokens. Or get a link with: federation console \
                        NAME
                        """,
                    attributes: "autocomplete=\"current-password\" required autofocus spellcheck=\"false\""
                )
            }
        let help: HTML = """
            <details><summary>No token?</summary><p>Run these commands where the service is configured:</p>
            <p>If there is no operator yet, <code>\(firstOperator)</code> prints a link that creates the first one.</p>
            <p>Otherwise <code>\(loginLink)</code> prints a link that logs the operator in once.</p>
            <p>An owner can create further operators in the console, under "Operators".</p></details>
            """
        return Page.card(
            "federation",
            title: "Log in to the console",
            refusal: refusal,
            """
            <form method="post" action="\(path)">\(HTML.hidden("to", target))\(token)
            \(HTML.submit("Log in to the console"))</form>\(help, if: link == nil)
            """
        )
    }
}

extension Console {
    func mountLogin(on router: Router<ManagementContext>) {
        // A GET does not use up the link: programs such as mail scanners open links before users do.
        router.get(RouterPath(ConsoleLoginPage.path)) { request, _ in
            let query = Visit.query(of: request)
            return ConsoleLoginPage.document(link: query["link"], to: ConsoleLoginPage.target(query["to"]))
        }
        router.post(RouterPath(ConsoleLoginPage.path)) { request, context in
            try await login(request, context)
        }
        action("/console/sign-out", on: router) { visit, _ in
            try await visit.call(.delete, ["operator", "sessions", "current"])
            return .redirect("/console/signed-out")
        }
        router.get("/console/signed-out") { _, _ in
            var response = Page.card(
                "Logged out",
                "<p>The session is revoked.</p><p>\(HTML.button("Log in again", to: ConsoleLoginPage.path))</p>"
            )
            response.headers[.setCookie] = cookie.removal
            // The browser's "back" button must not show any page again.
            response.headers[.clearSiteData] = "\"cache\""
            return response
        }
        page("/console/sessions", on: router) { visit in try await sessions(visit) }
        action("/console/sessions/{id}/end", on: router) { visit, _ in
            try await visit.call(.delete, ["operator", "sessions", visit.parameter("id")])
            return .done(.ended, "/console/sessions")
        }
        mountFirstOperator(on: router)
        FactorForm.mount(on: router, self)
        mountFactors(on: router)
    }

    /// Handles a form from a visitor who is not logged in.
    ///
    /// The form is refused if the connection is neither HTTPS nor on loopback.
    func strangersForm(
        of request: Request,
        _ act: (FormFields) async throws -> Response,
        refused: (Refusal, FormFields?) -> Response
    ) async throws -> Response {
        var form: FormFields?
        do {
            return try await Refusal.ofFailures {
                try forms.checkOrigin(of: request)
                let sent = try await request.formBody(upTo: 16_384)
                form = sent
                try requireProtection(of: request)
                return try await act(sent)
            }
        } catch let refusal as Refusal {
            return refused(refusal, form)
        }
    }

    private func login(_ request: Request, _ context: ManagementContext) async throws -> Response {
        try await strangersForm(of: request) { form in
            var response = Page.redirect(to: ConsoleLoginPage.target(try form.value("to")))
            let token = try Self.bearer(form.value("link") ?? form.value("token"))
            response.headers[.setCookie] = try await openSession(by: token, context)
            return response
        } refused: { refusal, form in
            let isSpent = refusal.endsSession && !form.typed("link").isEmpty
            let spent = "This link was used or has expired. Make another one: \(ConsoleLoginPage.loginLink)"
            return ConsoleLoginPage.document(
                link: nil,
                to: ConsoleLoginPage.target(form.typed("to")),
                isSpent ? refusal.saying(spent) : refusal
            )
        }
    }

    /// Refuses a connection on which others could read the session's token: neither HTTPS nor loopback.
    private func requireProtection(of request: Request) throws(Failure) {
        guard isReachedByTLS || Self.isLoopback(request.head.authority) else {
            throw Failure(
                .malformedRequest,
                """
                This connection is not encrypted, so the session could be read. Give the management listener a \
                certificate, set FEDERATION_OPERATOR_ORIGIN to its HTTPS address, or forward its port with ssh -L.
                """
            )
        }
    }

    /// Returns the operator's token if it can be the value of an HTTP header, and throws otherwise.
    static func bearer(_ token: String?) throws(Failure) -> String {
        guard let token, !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Failure(.operatorTokenInvalid, "This is not a valid operator token. Check that it is complete.")
        }
        return token
    }

    /// Opens a session of the operator to whom the token belongs.
    ///
    /// - Returns: The value of `Set-Cookie` with the session's token.
    /// - Throws: `Refusal`.
    func openSession(by token: String, _ context: ManagementContext) async throws -> String {
        let call = AdministrationCalls.Call(.post, ["operator", "sessions"])
        let answer = try await calls.send(call, as: token, context: context)
        guard answer.status.kind == .successful, let session = answer.object["token"]?.string else {
            throw Refusal(answer)
        }
        return cookie.header(Secret(session))
    }

    private static func isLoopback(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "[::1]"].contains { $0 == host }
    }

    private func sessions(_ visit: Visit) async throws -> Page {
        let sessions = try await visit.read(["operator", "sessions"]).array?.compactMap(\.object) ?? []
        let table = HTML.table("Your sessions", of: sessions, ifEmpty: "No sessions.") { session in
            let id = session.string("id")
            return [
                ("Session", "<code>\(id)</code>"), ("Logged in", .moment(session["created"])),
                ("Last used", .moment(session["lastUsed"])), ("Expires", .moment(session["expires"])),
                (
                    "Action",
                    visit.form(to: consolePath("sessions", id, "end"), "<button class=\"danger\">Revoke</button>")
                ),
            ]
        }
        return Page(
            title: "Your sessions",
            section: .operators,
            content: """
                \(table)
                <p>\(HTML.button("Your second factors", to: FactorForm.ownPath))</p>
                """,
            command: "federation get operators/\(visit.name)",
            call: "GET /admin/v1/operator/sessions"
        )
    }
}
