import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// Signing in to a browser, by a link of the command line or by a token, and signing out.
enum SignInPage {
    static let path = "/console/sign-in"

    /// The commands by which somebody gets in.
    static let firstOperator = "federation console"
    private static let signInLink = "federation console NAME"

    static func path(returningTo path: String) -> String {
        HTML.link(Self.path, [("to", path == "/console" ? "" : path)])
    }

    /// A path of the console that was asked for before; anything else leads to the overview.
    static func target(_ path: String?) -> String {
        guard let path, path == "/console" || path.hasPrefix("/console/") || path.hasPrefix("/console?"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }), !path.hasPrefix(Self.path)
        else { return "/console" }
        return path
    }

    static func document(link: String?, to target: String, _ refusal: Refusal? = nil) -> Response {
        let token: HTML =
            if let link {
                HTML.hidden("token", link)
            } else {
                HTML.field(
                    "token",
                    "Token of an operator",
                    type: "password",
                    hint:
                        "Made by: federation operator token NAME; a link in its place by: federation console NAME",
                    attributes: "autocomplete=\"current-password\" required autofocus spellcheck=\"false\""
                )
            }
        let help: HTML = """
            <details><summary>You have no token</summary><p>On the machine of the service, with its settings:</p>
            <p>While there is no operator, <code>\(firstOperator)</code> prints a link that makes the first one.</p>
            <p>A link that signs in once is made by <code>\(signInLink)</code>.</p>
            <p>Where there is an owner already, they make further operators here, under "Operators".</p></details>
            """
        return Page.document(
            title: "Sign in",
            status: refusal?.status ?? .ok,
            """
            <main id="main" class="card"><h1>federation</h1>\(refusal?.alert ?? "")
            <form method="post" action="\(path)">\(HTML.hidden("to", target))\(token)
            <p><button>Sign in</button></p></form>\(help, if: link == nil)</main>
            """
        )
    }
}

extension Console {
    func mountSignIn(on router: Router<ManagementContext>) {
        // To look at the page uses up no link: programs that look at links before people do would.
        router.get(RouterPath(SignInPage.path)) { request, _ in
            let query = Visit.query(of: request)
            return SignInPage.document(link: query["link"], to: SignInPage.target(query["to"]))
        }
        router.post(RouterPath(SignInPage.path)) { request, context in
            try await signIn(request, context)
        }
        action("/console/sign-out", on: router) { visit, _ in
            try await visit.call(.init(.delete, ["operator", "sessions", "current"]))
            return .redirect("/console/signed-out")
        }
        router.get("/console/signed-out") { _, _ in
            var response = Page.document(
                title: "Signed out",
                """
                <main id="main" class="card"><h1>Signed out</h1><p>The session has ended.</p>
                <p><a class="button" href="/console/sign-in">Sign in again</a></p></main>
                """
            )
            response.headers[.setCookie] = cookie.removal
            // Nothing that was seen is shown once more by the button "back".
            response.headers[.clearSiteData] = "\"cache\""
            return response
        }
        page("/console/sessions", on: router) { visit in try await sessions(visit) }
        action("/console/sessions/{id}/end", on: router) { visit, _ in
            try await visit.call(.init(.delete, ["operator", "sessions", visit.parameter("id")]))
            return .done(.ended, "/console/sessions")
        }
        mountFirstOperator(on: router)
        FactorForm.mount(on: router, self)
        mountFactors(on: router)
    }

    private func signIn(_ request: Request, _ context: ManagementContext) async throws -> Response {
        var target = "/console"
        do {
            do {
                try forms.checkOrigin(of: request)
                let form = try await request.formBody(upTo: 16_384)
                target = SignInPage.target(try form.value("to"))
                try requireProtection(of: request)
                let token = try Self.bearer(form.value("token"))
                var response = Page.redirect(to: target)
                response.headers[.setCookie] = try await openSession(by: token, context)
                return response
            } catch let failure as Failure {
                throw Refusal(failure)
            }
        } catch let refusal as Refusal {
            return SignInPage.document(link: nil, to: target, refusal)
        }
    }

    /// Refuses what would let a session go over the network for everybody to read.
    func requireProtection(of request: Request) throws(Failure) {
        guard isReachedByTLS || Self.isLoopback(request.head.authority) else {
            throw Failure(
                .malformedRequest,
                """
                A session would go over the network unprotected. Give the management listener a certificate, or \
                say by FEDERATION_OPERATOR_ORIGIN where it is reached by HTTPS, or forward its port by ssh -L.
                """
            )
        }
    }

    /// A token that can stand in a header.
    static func bearer(_ token: String?) throws(Failure) -> String {
        guard let token, !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Failure(.operatorTokenInvalid, "This is no token of an operator.")
        }
        return token
    }

    /// Opens a session by a token.
    ///
    /// - Returns: The cookie that holds it.
    /// - Throws: `Refusal`.
    func openSession(by token: String, _ context: ManagementContext) async throws -> String {
        let call = AdministrationCalls.Call(.post, ["operator", "sessions"])
        let answer = try await calls.send(call, as: token, context: context)
        guard answer.status.kind == .successful, let session = answer.body?.object?["token"]?.string else {
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
        let rows = sessions.map { session -> [HTML] in
            let id = session["id"]?.string ?? ""
            return [
                "<code>\(id)</code>", .moment(session["created"]), .moment(session["lastUsed"]),
                .moment(session["expires"]),
                visit.form(to: consolePath("sessions", id, "end"), "<button class=\"danger\">End</button>"),
            ]
        }
        return Page(
            title: "Your sessions",
            section: .operators,
            content: """
                \(HTML.table(
                    "Your sessions",
                    ["Session", "Signed in", "Last used", "Ends", "End it"],
                    rows,
                    ifEmpty: "There is none."
                ))
                <p><a class="button" href="\(FactorForm.ownPath)">Your second factors</a></p>
                """,
            command: "federation operator show \(visit.name)",
            call: "GET /admin/v1/operator/sessions"
        )
    }
}
