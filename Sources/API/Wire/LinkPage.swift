import Federation
import HTTPTypes
import Hummingbird
import Identity

/// The pages behind the links of mails.
///
/// They run no script, load nothing, and send their form to themselves alone.
enum LinkPage {
    static func passwordForm(
        token: String,
        account: LinkedAccount,
        application: String,
        keepsIdentities: Bool = false,
        refusal: Failure? = nil
    ) -> Response {
        let problem = refusal.map { "<p role=\"alert\">\(WebPage.escaped($0.message))</p>" } ?? ""
        let keep = """
            <p><label><input type="checkbox" name="keepIdentities"\(keepsIdentities ? " checked" : "")> The accounts at Facebook, Twitter and the like that are linked to \
            this account are mine: keep them. Leave this empty if you are not sure; you can link yours again.</label></p>

            """
        return page(
            "Choose a password",
            """
            <p>Choose a new password for your account at \(WebPage.escaped(application)). Everybody who is logged in to it will be \
            logged out.</p>
            \(problem)
            <form method="post">
            <input type="hidden" name="token" value="\(WebPage.escaped(token))">
            <p><label>E-mail address<br>
            <input type="email" autocomplete="username" value="\(WebPage.escaped(account.email))" readonly></label></p>
            <p><label>New password<br>
            <input type="password" name="password" autocomplete="new-password" required></label></p>
            \(account.hasIdentities ? keep : "")<p><button>Set password</button></p>
            </form>
            """,
            status: refusal.map { Problem.row(of: $0.reason).status } ?? .ok
        )
    }

    static func passwordIsSet(application: String) -> Response {
        page("Password set", "<p>Your new password counts. Log in to \(WebPage.escaped(application)) with it.</p>")
    }

    static func confirmationForm(token: String, email: String, application: String) -> Response {
        page(
            "Confirm your address",
            """
            <p>Somebody, most likely you, has an account at \(WebPage.escaped(application)) with the address \
            \(WebPage.escaped(email)). If it was not you, close this page.</p>
            <form method="post">
            <input type="hidden" name="token" value="\(WebPage.escaped(token))">
            <p><button>This is my account</button></p>
            </form>
            """
        )
    }

    static func emailIsConfirmed(application: String) -> Response {
        page(
            "Address confirmed",
            "<p>Your address is confirmed. You can log in to \(WebPage.escaped(application)).</p>"
        )
    }

    static func failure(_ failure: Failure) -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = Problem.retryAfter(failure)
        return page(
            "This did not work",
            "<p>\(WebPage.escaped(failure.message))</p>",
            status: Problem.row(of: failure.reason).status,
            headers: headers
        )
    }

    private static func page(
        _ title: String,
        _ body: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields()
    ) -> Response {
        WebPage.response(
            title: title,
            body: "<h1>\(title)</h1>\n\(body)",
            script: nil,
            status: status,
            headers: headers,
            sendsForms: true
        )
    }
}
