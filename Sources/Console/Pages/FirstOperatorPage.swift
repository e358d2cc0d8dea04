import AdministrationAPI
import Domain
import Encodings
import HTTP
import Hummingbird
import Pages

/// The page that creates the first operator, with the role *owner*.
///
/// The page opens only by the link that `federation console` prints.
extension Console {
    private static let firstOperatorPath = "/console/first-operator"

    func mountFirstOperator(on router: Router<ManagementContext>) {
        // A GET does not use up the link: programs such as mail scanners open links before users do.
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
            // The owner exists now. So the page shows the token even if no session can be opened.
            let session = try? await openSession(by: token, context)
            var response = Self.firstOperatorMade(answer.object, isLoggedIn: session != nil)
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
            <p>You need a link to create the first owner. Run this command where the service is configured to get \
            it:</p>
            <p><code>\(ConsoleLoginPage.firstOperator)</code></p>
            """
        return Page.card(
            "The first owner",
            refusal: refusal,
            """
            \("<p>An owner has all rights, and can create further operators.</p>", if: link != nil)
            \(link == nil ? help : form)
            """
        )
    }

    private static func firstOperatorMade(_ made: JSONObject, isLoggedIn: Bool) -> Response {
        let next: HTML = """
            <p>Protect your account with a second factor: an authenticator app or a passkey.</p>
            <p>\(HTML.button("Enrol a second factor", to: FactorForm.ownPath)) \
            \(HTML.button("Go to the console", to: "/console"))</p>
            """
        let login: HTML = "<p>\(HTML.button("Log in", to: ConsoleLoginPage.path))</p>"
        return Page.card("The first owner", "\(HTML.made(operator: made))\(isLoggedIn ? next : login)")
    }
}
