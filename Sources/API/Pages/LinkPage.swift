import Accounts
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The pages behind the links of mails.
///
/// They run no script but that of passkeys, load nothing, and send their form to themselves alone.
struct LinkPage {
    /// Says which status a page of a failure has.
    let errors: any ErrorTable

    func passwordForm(
        token: String,
        account: LinkedAccount,
        application: String,
        keepsIdentities: Bool = false,
        refusal: Failure? = nil
    ) -> Response {
        page(
            "Choose a password",
            """
            <p>Choose a new password for your account at \(WebPage.escaped(application)). Everybody who is logged in to it will be \
            logged out.</p>
            \(problem(refusal))
            \(newPassword("password", token: token, account: account, keepsIdentities, button: "Set password"))
            """,
            script: script(of: account),
            status: status(of: refusal)
        )
    }

    /// A form by which a new password is chosen, as the field of a name; nil for `keepsIdentities` where that is not
    /// asked.
    private func newPassword(
        _ field: String,
        token: String,
        account: LinkedAccount,
        _ keepsIdentities: Bool?,
        button: String
    ) -> String {
        let keep = """
            <p><label><input type="checkbox" name="keepIdentities"\(keepsIdentities == true ? " checked" : "")> The accounts at Facebook, Twitter and the like that are linked to \
            this account are mine: keep them. Leave this empty if you are not sure; you can link yours again.</label></p>

            """
        return """
            <form method="post">
            \(hidden(token, account))
            <p><label>New password<br>
            <input type="password" name="\(field)" autocomplete="new-password" required></label></p>
            \(account.hasIdentities && keepsIdentities != nil ? keep : "")\(end(of: account, button: button))</form>
            """
    }

    /// The button of a form that sets a password, with the second factor where one is asked for.
    private func end(of account: LinkedAccount, button: String) -> String {
        guard let question = account.question else { return "<p><button>\(button)</button></p>\n" }
        let fields = FactorFields.asking(
            for: question.factor,
            sentTo: question.sentTo,
            publicKey: question.publicKey,
            others: question.others,
            button: question.publicKey == nil ? button : "\(button) by your passkey"
        )
        return """
            <p>Your account is protected by a second factor. Show it, too.</p>
            \(FactorFields.hidden("pending", question.pending.reveal()))\(fields)
            """
    }

    /// What each form holds: the token, and the login for password managers.
    private func hidden(_ token: String, _ account: LinkedAccount) -> String {
        """
        <input type="hidden" name="token" value="\(WebPage.escaped(token))">
        <p><label>\(account.login == nil ? "E-mail address" : "Login")<br>
        <input type="\(account.login == nil ? "email" : "text")" autocomplete="username" value="\(WebPage.escaped(account.login ?? account.email))" readonly></label></p>
        """
    }

    private func problem(_ refusal: Failure?) -> String {
        refusal.map { "<p role=\"alert\">\(WebPage.escaped($0.message))</p>" } ?? ""
    }

    private func script(of account: LinkedAccount) -> String? {
        account.question?.publicKey == nil ? nil : FactorFields.passkeyDigest
    }

    private func status(of refusal: Failure?) -> HTTPResponse.Status {
        refusal.map { errors.status(of: $0.reason) } ?? .ok
    }

    func passwordIsSet(application: String) -> Response {
        page("Password set", "<p>Your new password counts. Log in to \(WebPage.escaped(application)) with it.</p>")
    }

    /// Somebody else may have registered the address, so a password that is there counts on only if the reader knows
    /// it.
    func confirmationForm(
        token: String,
        account: LinkedAccount,
        application: String,
        keepsIdentities: Bool = false,
        refusal: Failure? = nil
    ) -> Response {
        let known =
            account.hasPassword
            ? """
            <p><label>The password that you chose for it<br>
            <input type="password" name="password" autocomplete="current-password" required></label></p>
            """ : ""
        let other =
            account.hasPassword && account.setsPassword
            ? """
            <h2>Or set a new password</h2>
            <p>If somebody else made the account with your address, or you have forgotten the password, the account becomes yours by a new \
            one. The former password ends, and everybody who is logged in will be logged out.</p>
            \(newPassword("newPassword", token: token, account: account, keepsIdentities, button: "Set password and confirm"))
            """ : ""
        return page(
            "Confirm your address",
            """
            <p>Somebody, most likely you, has an account at \(WebPage.escaped(application)) with the address \
            \(WebPage.escaped(account.email)). If you want none, close this page.</p>
            \(problem(refusal))
            <form method="post">
            \(hidden(token, account))
            \(known)
            <p><button>This is my account</button></p>
            </form>
            \(other)
            """,
            script: script(of: account),
            status: status(of: refusal)
        )
    }

    func emailIsConfirmed(application: String) -> Response {
        page(
            "Address confirmed",
            "<p>Your address is confirmed. You can log in to \(WebPage.escaped(application)).</p>"
        )
    }

    func reversalForm(
        token: String,
        account: LinkedAccount,
        application: String,
        refusal: Failure? = nil
    ) -> Response {
        page(
            "Take your account back",
            """
            <p>Your account at \(WebPage.escaped(application)) gets back this address, and the accounts at Facebook, Twitter and the like \
            that were linked to it three days before the change. Choose a new password for it. Everybody who is logged in to it will be \
            logged out. If it was you who changed it, close this page.</p>
            \(problem(refusal))
            \(newPassword("password", token: token, account: account, nil, button: "Take the account back"))
            """,
            script: script(of: account),
            status: status(of: refusal)
        )
    }

    /// The account is the reader's again, but for identities of some providers.
    func changeIsUndone(application: String, lost providers: [String]) -> Response {
        let lost = providers.map {
            """
            <p>Your account at \(WebPage.escaped($0)) could not be linked again: it opens another account at \
            \(WebPage.escaped(application)) by now, or yours has another one in its place. Unlink that first, or ask those who run \
            \(WebPage.escaped(application)) to help you.</p>
            """
        }
        return page(
            "The account is yours again",
            """
            <p>Your address and your new password count. Log in to \(WebPage.escaped(application)) with them, and look whether all accounts \
            that are linked there are yours.</p>
            \(lost.joined(separator: "\n"))
            """
        )
    }

    func failure(_ failure: Failure) -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = errors.retryAfter(failure)
        return page(
            "This did not work",
            "<p>\(WebPage.escaped(failure.message))</p>",
            status: errors.status(of: failure.reason),
            headers: headers
        )
    }

    private func page(
        _ title: String,
        _ body: String,
        script digest: String? = nil,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields()
    ) -> Response {
        WebPage.response(
            title: title,
            body: "<h1>\(title)</h1>\n\(body)",
            script: digest,
            status: status,
            headers: headers,
            sendsForms: true
        )
    }
}
