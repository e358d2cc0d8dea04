import AdministrationAPI
import Domain
import Encodings
import HTTP
import Hummingbird
import Pages

/// The page that creates the first owner, only by the link that `federation console` prints.
extension Console {
    private static let firstOperatorPath = "/console/first-operator"

    func mountFirstOperator(on router: Router<ManagementContext>) {
        // A GET does not use up the link: programs that follow links before users do would spend it.
        router.get(RouterPath(Self.firstOperatorPath)) { request, _ in
            Self.firstOperatorPage(link: Visit.query(of: request)["link"])
        }
        router.post(RouterPath(Self.firstOperatorPath)) { request, context in
            try await makeFirstOperator(request, context)
        }
    }

    private func makeFirstOperator(_ request: Request, _ context: ManagementContext) async throws -> Response {
        try await strangersForm(of: request) { form in
            let name: JSONObject = ["name": .string(try form.text("name"))]
            let call = AdministrationCalls.Call(.post, ["setup"], body: .object(name))
            let answer = try await calls.send(call, as: try Self.bearer(form.value("link")), context: context)
            guard answer.status.kind == .successful, let token = answer.object["token"]?.string else {
                throw Refusal(answer)
            }
            // The owner exists now: the token is shown even if no session can be opened.
            let session = try? await openSession(by: token, context)
            var response = Self.firstOperatorMade(answer.object, isSignedIn: session != nil)
            response.headers[.setCookie] = session
            return response
        } refused: { refusal, form in
            Self.firstOperatorPage(link: try? form?.value("link"), name: form.typed("name"), refusal)
        }
    }

    private static func firstOperatorPage(link: String?, name: String = "", _ refusal: Refusal? = nil) -> Response {
        let form: HTML = """
            <form method="post" action="\(firstOperatorPath)">\(HTML.hidden("link", link ?? ""))
            \(HTML.operatorName("Your name", name, "autofocus"))
            <p><button class="primary">Become the owner</button></p></form>
            """
        let help: HTML = """
            <p>The first owner is made by a link. On the machine of the service, with its settings, this prints it:</p>
            <p><code>\(SignInPage.firstOperator)</code></p>
            """
        return Page.card(
            "The first owner",
            refusal: refusal,
            """
            \("<p>An owner may do everything here, and makes further operators.</p>", if: link != nil)
            \(link == nil ? help : form)
            """
        )
    }

    private static func firstOperatorMade(_ made: JSONObject, isSignedIn: Bool) -> Response {
        let next: HTML = """
            <p>Protect your account by a second factor: an authenticator app, or a passkey.</p>
            <p>\(HTML.button("Enrol a second factor", to: FactorForm.ownPath)) \
            \(HTML.button("Go to the console", to: "/console"))</p>
            """
        let signIn: HTML = "<p>\(HTML.button("Sign in", to: SignInPage.path))</p>"
        return Page.card("The first owner", "\(HTML.made(operator: made))\(isSignedIn ? next : signIn)")
    }
}
