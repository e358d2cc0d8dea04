import Accounts
import Domain
import Encodings
import HTTP
import Hummingbird

/// Creates the pages of one application to which mailed links lead.
///
/// The pages run only the passkey script, load nothing, and send their forms only to their own URLs.
struct LinkPage {
    private let page: WebPage
    private let passwords: PasswordRules
    private let identityProperty: PropertyName
    /// The error table, which maps each failure to its HTTP status.
    private let errors: any ErrorTable

    init(of application: Domain.Application, _ page: WebPage, errors: any ErrorTable) {
        self.page = page
        passwords = application.settings.passwords
        identityProperty = application.settings.identityProperty
        self.errors = errors
    }

    var words: PageWords { page.words }

    /// Returns the page with the form that a user sees after opening a mailed link.
    func form(
        for purpose: EmailTokenPurpose,
        token: String,
        account: LinkedAccount,
        keepsIdentities: Bool = false,
        next: ContinueURL?,
        refusal: Failure? = nil
    ) -> Response {
        let link = Link(token: token, account: account, keepsIdentities: keepsIdentities, next: next)
        let (title, body): (PageText, HTML) =
            switch purpose {
            case .passwordReset:
                (
                    .choosePassword,
                    """
                    <p>\(words(.chooseNewPassword))</p>
                    \(newPassword("password", link, asksForIdentities: true, .setPassword))
                    """
                )
            case .confirmation: (.confirmAddress, confirmation(link))
            case .reversal:
                (
                    .takeAccountBack,
                    """
                    <p>\(words(.accountComesBack))</p>
                    \(newPassword("password", link, asksForIdentities: false, .takeBack))
                    """
                )
            case .claim: (.connectAccounts, claim(link))
            case .verification: (.confirmAddress, consent(link, .somebodyHasAccount, .thisIsMyAccount))
            case .newAddress: (.confirmAddress, consent(link, .addressBecomes, .changesAddress))
            case .mergeReversal:
                (
                    .separateAccounts,
                    """
                    <p>\(words(.accountsBecomeTwo))</p>
                    <form method="post">
                    \(HTML.hidden("token", token))
                    <p><button>\(words(.separate))</button></p>
                    </form>
                    """
                )
            }
        let runsPasskeys = account.question?.publicKey != nil
        return page.question(title, body, problem: refusal, by: errors, script: runsPasskeys ? .passkey : nil)
    }

    /// The values that each form on the page of a mailed link contains.
    private struct Link {
        let token: String
        let account: LinkedAccount
        let keepsIdentities: Bool
        let next: ContinueURL?
    }

    /// Returns a form with the field `field` for a new password.
    ///
    /// If a second factor is required, the form asks for it.
    private func newPassword(
        _ field: String,
        _ link: Link,
        asksForIdentities: Bool,
        _ button: PageText
    ) -> HTML {
        let keep = HTML.tick("keepIdentities", words(.keepIdentities), isTicked: link.keepsIdentities)
        let end = factor(of: link, button)
        return """
            <form method="post">
            \(hidden(link))
            \(words.newPasswordField(passwords, named: field))
            \("<p>\(keep)</p>\n", if: link.account.hasIdentities && asksForIdentities)\
            \(end ?? "<p><button>\(words(button))</button></p>\n")</form>
            """
    }

    /// Returns the fields that ask for a second factor, with the button; nil if none is required.
    private func factor(of link: Link, _ button: PageText) -> HTML? {
        link.account.question.map { question -> HTML in
            let fields = FactorFields(words).asking(
                for: question.factor,
                sentTo: question.sentTo,
                publicKey: question.publicKey,
                others: question.others,
                button: words(button)
            )
            return """
                <p>\(words(.showSecondFactorToo))</p>
                \(HTML.hidden("pending", question.pending.reveal()))\(fields)
                """
        }
    }

    /// Returns the fields that each form contains: the link's token, and the login name, which password managers read.
    private func hidden(_ link: Link) -> HTML {
        let account = link.account
        let type: HTML = account.login == nil ? "email" : "text"
        return """
            \(HTML.hidden("token", link.token))\(link.next.map { HTML.hidden("continue", $0.text) })
            <p><label>\(words(account.login == nil ? .emailAddress : .loginName))
            <input type="\(type)" autocomplete="username" value="\(account.login ?? account.email)" readonly></label></p>
            """
    }

    /// Returns the forms by which a user confirms an e-mail address.
    ///
    /// A user who does not own the address may have registered the account, and would still know its password. So the
    /// account keeps its password only if the reader of the mail enters this password.
    private func confirmation(_ link: Link) -> HTML {
        let account = link.account
        let other: HTML = """
            <h2>\(words(.orSetNewPassword))</h2>
            <p>\(words(.accountBecomesYours))</p>
            \(newPassword("newPassword", link, asksForIdentities: true, .setPasswordAndConfirm))
            """
        return """
            <p>\(words(.somebodyHasAccount, [.address: "\(account.email)"]))</p>
            <form method="post">
            \(hidden(link))
            \(words.passwordField("password", .knownPassword), if: account.hasPassword)
            <p><button>\(words(.thisIsMyAccount))</button></p>
            </form>
            \(other, if: account.hasPassword && account.setsPassword)
            """
    }

    /// Returns a form with which the reader of a mail agrees to the action of the link.
    private func consent(_ link: Link, _ text: PageText, _ button: PageText) -> HTML {
        """
        <p>\(words(text, [.address: "\(link.account.email)"]))</p>
        <form method="post">
        \(hidden(link))
        <p><button>\(words(button))</button></p>
        </form>
        """
    }

    /// Returns the form by which the reader of a mail makes two accounts one, or says that the other is not theirs.
    ///
    /// An account whose address was not confirmed may have been made by somebody else. So its password and identities
    /// stay only if the reader knows the password and says that the identities are their own.
    private func claim(_ link: Link) -> HTML {
        let account = link.account
        let provider: HTML = "\(account.providersOfNewcomer.joined(separator: ", "))"
        let keep = HTML.tick("keepIdentities", words(.keepIdentities), isTicked: link.keepsIdentities)
        let password: HTML = """
            <p>\(words(.passwordOrGone))</p>
            \(words.passwordField("password", .password, isRequired: false))
            """
        let end = factor(of: link, .connect) ?? "<p><button>\(words(.connect))</button></p>\n"
        return """
            <p>\(words(.somebodyLoggedIn, [.provider: provider, .address: "\(account.email)"]))</p>
            <p>\(words(.accountsBecomeOne, [.provider: provider]))</p>
            <form method="post">
            \(HTML.hidden("token", link.token))
            \(password, if: account.hasPassword && !account.isConfirmed)\
            \("<p>\(keep)</p>\n", if: account.hasIdentities && !account.isConfirmed)\
            \(end)</form>
            <form method="post">
            \(HTML.hidden("token", link.token))
            <p><button name="refuse" value="yes">\(words(.wasNotMe))</button></p>
            </form>
            """
    }

    /// Returns the page of an invitation: a form that creates an account with a password, and a code to enter in the
    /// app.
    func invitation(
        token: String,
        offer: InvitationOffer,
        record: JSONObject = JSONObject(),
        refusal: Failure? = nil
    ) -> Response {
        let address = record[PropertyName.email.text]?.string ?? offer.email ?? ""
        let login = HTML.field(
            identityProperty.text,
            words(.loginName),
            value: record[identityProperty.text]?.string ?? "",
            attributes: "autocomplete=\"username\" required"
        )
        let email = HTML.field(
            "email",
            words(.emailAddress),
            type: "email",
            value: address,
            attributes: "autocomplete=\"email\""
        )
        let form: HTML = """
            <h2>\(words(.byPassword))</h2>
            <form method="post">
            \(HTML.hidden("token", token))
            \(login, if: identityProperty != .email)\(email)
            \(words.newPasswordField(passwords))
            <p><button>\(words(.openAccount))</button></p>
            </form>
            """
        return page.question(
            .invitation,
            """
            <p>\(words(.invites))</p>
            \(form, if: offer.takesPassword)
            <h2>\(words(.invitationCode))</h2>
            <p>\(words(.inTheApp))</p>
            <p><code>\(token)</code></p>
            """,
            problem: refusal,
            by: errors,
            sendsForms: offer.takesPassword
        )
    }

    /// Returns a page that shows the result after a form was sent, with a link to the page of the app.
    func says(_ title: PageText, _ text: PageText, next: ContinueURL? = nil) -> Response {
        let link = next.map { "\n<p><a href=\"\($0.text)\">\(words(.goOnInApp))</a></p>" as HTML }
        return page.response(title, "<p>\(words(text))</p>\(link)")
    }

    /// Returns the page that tells the user that a change of the account was undone.
    ///
    /// It names the providers whose identities were removed.
    func changeIsUndone(lost providers: [String]) -> Response {
        let lost = providers.map { provider -> HTML in
            "<p>\(words(.identityIsLost, [.provider: "\(provider)"]))</p>\n"
        }
        return page.response(.accountIsBack, "<p>\(words(.addressCountsAgain))</p>\n\(lost)")
    }
}
