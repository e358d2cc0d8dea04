import Accounts
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The pages behind the links of mails, of one application.
///
/// They run no script but that of passkeys, load nothing, and send their form to themselves alone.
struct LinkPage {
    private let page: WebPage
    private let name: String
    private let passwords: PasswordRules
    private let identityProperty: PropertyName
    /// Says which status a page of a failure has.
    private let errors: any ErrorTable

    init(of application: Vocabulary.Application, _ page: WebPage, errors: any ErrorTable) {
        self.page = page
        name = application.name
        passwords = application.settings.passwords
        identityProperty = application.settings.identityProperty
        self.errors = errors
    }

    var language: PageLanguage { page.language }

    func passwordForm(
        token: String,
        account: LinkedAccount,
        keepsIdentities: Bool = false,
        refusal: Failure? = nil
    ) -> Response {
        form(
            .choosePassword,
            """
            <p>\(language(.chooseNewPassword(application: name)))</p>
            \(problem(refusal))
            \(newPassword("password", token: token, account: account, keepsIdentities, button: .setPassword))
            """,
            of: account,
            refusal
        )
    }

    /// A form by which a new password is chosen, as the field of a name; nil for `keepsIdentities` where that is not
    /// asked.
    private func newPassword(
        _ field: HTML,
        token: String,
        account: LinkedAccount,
        _ keepsIdentities: Bool?,
        button: PageText
    ) -> HTML {
        """
        <form method="post">
        \(hidden(token, account))
        \(NewPasswordField.html(named: field, passwords, application: name, in: language))
        \(account.hasIdentities ? keep(keepsIdentities) : "")\(end(of: account, button: language(button)))</form>
        """
    }

    private func keep(_ keepsIdentities: Bool?) -> HTML {
        guard let keepsIdentities else { return "" }
        let checked: HTML = keepsIdentities ? " checked" : ""
        return """
            <p><label class="choice"><input type="checkbox" name="keepIdentities"\(checked)>
            <span>\(language(.keepIdentities))</span></label></p>

            """
    }

    /// The button of a form that sets a password, with the second factor where one is asked for.
    private func end(of account: LinkedAccount, button: HTML) -> HTML {
        guard let question = account.question else { return "<p><button>\(button)</button></p>\n" }
        let fields = FactorFields(in: language).asking(
            for: question.factor,
            sentTo: question.sentTo,
            publicKey: question.publicKey,
            others: question.others,
            button: question.publicKey == nil ? button : language(.byPasskey(button: button))
        )
        return """
            <p>\(language(.showSecondFactorToo))</p>
            \(HTML.hidden("pending", question.pending.reveal()))\(fields)
            """
    }

    /// What each form holds: the token, and the login for password managers.
    private func hidden(_ token: String, _ account: LinkedAccount) -> HTML {
        let type: HTML = account.login == nil ? "email" : "text"
        return """
            \(HTML.hidden("token", token))
            <p><label>\(language(account.login == nil ? .emailAddress : .loginName))
            <input type="\(type)" autocomplete="username" value="\(account.login ?? account.email)" readonly></label></p>
            """
    }

    private func problem(_ refusal: Failure?) -> HTML { FactorFields(in: language).problem(refusal) }

    func passwordIsSet() -> Response {
        page.response(.passwordIsSet, "<p>\(language(.logInWithNewPassword(application: name)))</p>")
    }

    /// Somebody else may have registered the address, so a password that is there counts on only if the reader knows
    /// it.
    func confirmationForm(
        token: String,
        account: LinkedAccount,
        keepsIdentities: Bool = false,
        refusal: Failure? = nil
    ) -> Response {
        let known: HTML =
            account.hasPassword
            ? """
            <p><label>\(language(.knownPassword))
            <input type="password" name="password" autocomplete="current-password" required></label></p>
            """ : ""
        let other: HTML =
            account.hasPassword && account.setsPassword
            ? """
            <h2>\(language(.orSetNewPassword))</h2>
            <p>\(language(.accountBecomesYours))</p>
            \(newPassword(
                "newPassword", token: token, account: account, keepsIdentities, button: .setPasswordAndConfirm
            ))
            """ : ""
        return form(
            .confirmAddress,
            """
            <p>\(language(.somebodyHasAccount(application: name, email: account.email)))</p>
            \(problem(refusal))
            <form method="post">
            \(hidden(token, account))
            \(known)
            <p><button>\(language(.thisIsMyAccount))</button></p>
            </form>
            \(other)
            """,
            of: account,
            refusal
        )
    }

    func emailIsConfirmed() -> Response {
        page.response(.addressIsConfirmed, "<p>\(language(.logInNow(application: name)))</p>")
    }

    func reversalForm(token: String, account: LinkedAccount, refusal: Failure? = nil) -> Response {
        form(
            .takeAccountBack,
            """
            <p>\(language(.accountComesBack(application: name)))</p>
            \(problem(refusal))
            \(newPassword("password", token: token, account: account, nil, button: .takeBack))
            """,
            of: account,
            refusal
        )
    }

    /// What an invitation is good for: an account with a password here, and a code for the app.
    func invitation(
        token: String,
        offer: InvitationOffer,
        record: JSONObject = JSONObject(),
        refusal: Failure? = nil
    ) -> Response {
        let address = record[PropertyName.email.text]?.string ?? offer.email ?? ""
        let login: HTML =
            identityProperty == .email
            ? ""
            : """
            <p><label>\(language(.loginName))
            <input name="\(identityProperty.text)" autocomplete="username" value="\(record[identityProperty.text]?.string ?? "")" \
            required></label></p>

            """
        let form: HTML =
            offer.takesPassword
            ? """
            <h2>\(language(.byPassword))</h2>
            \(problem(refusal))
            <form method="post">
            \(HTML.hidden("token", token))
            \(login)<p><label>\(language(.emailAddress))
            <input type="email" name="email" autocomplete="email" value="\(address)"></label></p>
            \(NewPasswordField.html(passwords, application: name, in: language))
            <p><button>\(language(.openAccount))</button></p>
            </form>
            """ : ""
        return page.response(
            .invitation,
            """
            <p>\(language(.invites(application: name)))</p>
            \(form)
            <h2>\(language(.invitationCode))</h2>
            <p>\(language(.inTheApp(application: name)))</p>
            <p><code>\(token)</code></p>
            """,
            status: refusal.map { errors.status(of: $0.reason) } ?? .ok,
            sendsForms: offer.takesPassword
        )
    }

    func accountIsOpen(waitsForConfirmation: Bool) -> Response {
        let text: PageText = waitsForConfirmation ? .confirmationIsSent : .accountOpened(application: name)
        return page.response(.accountIsOpen, "<p>\(language(text))</p>")
    }

    /// The account is the reader's again, but for identities of some providers.
    func changeIsUndone(lost providers: [String]) -> Response {
        let lost = providers.map { provider -> HTML in
            "<p>\(language(.identityIsLost(provider: provider, application: name)))</p>\n"
        }
        return page.response(
            .accountIsBack,
            "<p>\(language(.addressCountsAgain(application: name)))</p>\n\(lost.joined())"
        )
    }

    private func form(_ title: PageText, _ body: HTML, of account: LinkedAccount, _ refusal: Failure?) -> Response {
        page.response(
            title,
            body,
            script: account.question?.publicKey == nil ? nil : FactorFields.passkeyDigest,
            status: refusal.map { errors.status(of: $0.reason) } ?? .ok,
            sendsForms: true
        )
    }
}
