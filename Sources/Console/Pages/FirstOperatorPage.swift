import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The first owner, where there is no operator: made by the link that `federation console` prints, and by nothing else.
extension Console {
    private static let firstOperatorPath = "/console/first-operator"

    func mountFirstOperator(on router: Router<ManagementContext>) {
        // To look at the page uses up no link: programs that look at links before people do would.
        router.get(RouterPath(Self.firstOperatorPath)) { request, _ in
            Self.firstOperatorPage(link: Visit.query(of: request)["link"])
        }
        router.post(RouterPath(Self.firstOperatorPath)) { request, context in
            try await makeFirstOperator(request, context)
        }
    }

    private func makeFirstOperator(_ request: Request, _ context: ManagementContext) async throws -> Response {
        var (link, name): (String?, String) = (nil, "")
        do {
            do {
                try forms.checkOrigin(of: request)
                let form = try await request.formBody(upTo: 16_384)
                (link, name) = (try form.value("link"), try form.value("name") ?? "")
                try requireProtection(of: request)
                let call = AdministrationCalls.Call(
                    .post,
                    ["setup"],
                    body: .object(["name": .string(name)])
                )
                let answer = try await calls.send(call, as: try Self.bearer(link), context: context)
                guard answer.status.kind == .successful, let made = answer.body?.object,
                    let token = made["token"]?.string
                else { throw Refusal(answer) }
                // The owner is there by now: whatever becomes of the session, the token is shown.
                let session = try? await openSession(by: token, context)
                var response = Self.firstOperatorMade(made, isSignedIn: session != nil)
                response.headers[.setCookie] = session
                return response
            } catch let failure as Failure {
                throw Refusal(failure)
            }
        } catch let refusal as Refusal {
            return Self.firstOperatorPage(link: link, name: name, refusal)
        }
    }

    private static func firstOperatorPage(link: String?, name: String = "", _ refusal: Refusal? = nil) -> Response {
        let form: HTML = """
            <form method="post" action="\(firstOperatorPath)">\(HTML.hidden("link", link ?? ""))
            \(HTML.field("name", "Your name", value: name, hint: """
            Letters, digits and . - _ @ +, such as ann. The audit log has it; it stays.
            """, attributes: """
            required maxlength="64" spellcheck="false" autocomplete="off" autofocus
            """))
            <p><button class="primary">Become the owner</button></p></form>
            """
        let help: HTML = """
            <p>The first owner is made by a link. On the machine of the service, with its settings, this prints it:</p>
            <p><code>\(SignInPage.firstOperator)</code></p>
            """
        return Page.document(
            title: "The first owner",
            status: refusal?.status ?? .ok,
            """
            <main id="main" class="card"><h1>The first owner</h1>\(refusal?.alert ?? "")
            \("<p>An owner may do everything here, and makes further operators.</p>", if: link != nil)
            \(link == nil ? help : form)</main>
            """
        )
    }

    private static func firstOperatorMade(_ made: JSONObject, isSignedIn: Bool) -> Response {
        let next: HTML = """
            <p>Protect your account by a second factor: an authenticator app, or a passkey.</p>
            <p><a class="button" href="\(FactorForm.ownPath)">Enrol a second factor</a> \
            <a class="button" href="/console">Go to the console</a></p>
            """
        return Page.document(
            title: "The first owner",
            """
            <main id="main" class="card"><h1>The first owner</h1>\(HTML.made(operator: made))
            \(isSignedIn ? next : "<p><a class=\"button\" href=\"\(SignInPage.path)\">Sign in</a></p>" as HTML)</main>
            """
        )
    }
}
