package import Domain
import Encodings
import Factors
package import HTTP
package import Hummingbird
package import Logins

/// The page that asks for a second factor after a provider's login dialog.
///
/// The page runs only two scripts: the passkey script, and the script that posts the result of a login in a popup to
/// the window that opened it. The path to which the page sends its forms differs from the page's own path only in the
/// last segment.
package struct FactorPage {
    /// The last segment of the path to which the page sends its forms.
    ///
    /// The last segment of the page's own path is `authorize`.
    package static let path = "secondFactor"

    /// The maximum size of a form in bytes.
    ///
    /// The largest form contains a pending login with the user's profile from the provider, encrypted twice.
    package static let formLimit = 1_048_576

    private let question: FactorQuestion
    private let page: WebPage
    private let errors: any ErrorTable

    package init(_ question: FactorQuestion, _ page: WebPage, by errors: any ErrorTable) {
        (self.question, self.page, self.errors) = (question, page, errors)
    }

    private var words: PageWords { page.words }
    private var fields: FactorFields { FactorFields(words) }

    /// Returns the page for the present step: to enter a second factor, to set one up, or to keep recovery codes.
    ///
    /// The closure `form` serializes the result of a login in a popup, in the format that the client expects.
    package func response(handingOver form: (LoginResult) -> [UInt8]) -> Response {
        switch question.step {
        case .show(let factor, let challenge, let others):
            let asking = fields.asking(
                for: factor,
                sentTo: challenge.sentTo,
                publicKey: challenge.publicKey,
                others: others
            )
            let body: HTML = "<p>\(words(.showSecondFactor))</p>\n\(self.form(asking))"
            return response(.secondFactor, body, runsPasskeys: challenge.publicKey != nil)
        case .enrol(let kinds):
            let forms = kinds.map { self.form(enrolling($0)) }
            return response(.setUpSecondFactor, "<p>\(words(.appAsksForFactor))</p>\n\(forms)")
        case .confirm(let begun):
            let other = FactorFields.choice("kinds", "yes", words(.setUpSomethingElse))
            let body: HTML = "\(self.form(confirming(begun)))\(self.form(other))"
            return response(.setUpSecondFactor, body, runsPasskeys: begun.publicKey != nil)
        case .keep(let codes, let done):
            let body: HTML = """
                <p>\(words(.keepRecoveryCodes))</p>
                <ul class="codes">
                \(codes.map { "<li><code>\($0.reveal())</code></li>\n" as HTML })</ul>

                """
            if let done, case .popup(let origin) = question.end {
                return page.handOver(form(done), to: origin, after: body, .recoveryCodes)
            }
            let button = HTML.submit(words(.codesAreKept), "name=\"goOn\" value=\"yes\"")
            return response(.recoveryCodes, "\(body)\(self.form(button))")
        }
    }

    /// Parses the form that a user has sent from the page.
    ///
    /// - Throws: `malformed_request`.
    package static func answer(_ form: FormFields) throws(Failure) -> FactorQuestionAnswer {
        if let id = try form.value("choose").flatMap({ ObjectID($0) }) { return .choose(id) }
        if let id = try form.value("send").flatMap({ ObjectID($0) }) { return .send(id) }
        if try form.value("kinds") != nil { return .chooseKind }
        if try form.value("goOn") != nil { return .goOn }
        if let kind = try form.value("kind").flatMap({ FactorKind(rawValue: $0) }) {
            return .enrol(EnrolmentRequest(kind: kind, label: nil, target: try form.value("target")))
        }
        let response = try FactorResponse(form)
        if let draft = try form.value("draft") { return .confirm(draft: draft, response) }
        return .show(try form.value("factor").flatMap { ObjectID($0) }, response)
    }

    private func enrolling(_ kind: FactorKind) -> HTML {
        let (wish, field): (PageText, HTML)
        switch kind {
        case .totp: (wish, field) = (.enrolApp, "")
        case .passkey: (wish, field) = (.enrolPasskey, "")
        case .sms: (wish, field) = (.enrolSMS, target("tel", .telephoneNumber))
        case .email: (wish, field) = (.enrolMail, target("email", .emailAddress))
        case .recoveryCode: return ""
        }
        return "\(field)\(HTML.submit(words(wish), "class=\"other\" name=\"kind\" value=\"\(kind)\""))"
    }

    private func target(_ type: String, _ label: PageText) -> HTML {
        .field("target", words(label), type: type, id: type, attributes: "autocomplete=\"\(type)\" required")
    }

    private func confirming(_ begun: PendingEnrolment) -> HTML {
        let draft = HTML.hidden("draft", begun.id.reveal())
        if let options = begun.publicKey {
            return "\(draft)\(fields.passkey(options, button: words(.makePasskey)))"
        }
        let label = begun.sentTo.map { words(.codeSentTo, [.target: "\($0)"]) } ?? words(.codeOfNewApp)
        let code: HTML = "\(FactorFields.code(label, isNumber: true))\(HTML.submit(words(.goOn)))"
        guard let address = begun.address?.reveal() else { return "\(draft)\(code)" }
        let query = address.split(separator: "?", maxSplits: 1).last.map(String.init)
        let secret = LenientQuery(query)["secret"] ?? ""
        return """
            \(draft)<p>\(words(.scanPicture, [.address: "\(address)"]))</p>
            <div class="picture" role="img" aria-label="\(words(.pictureToScan))">\
            \(HTML(markup: begun.picture?.reveal() ?? ""))</div>
            <p>\(words(.key)) <code>\(secret)</code></p>
            \(code)
            """
    }

    private func form(_ fields: HTML) -> HTML {
        """
        <form method="post" action="\(Self.path)">
        \(HTML.hidden("login", question.login.reveal()))\(fields)</form>

        """
    }

    private func response(_ title: PageText, _ body: HTML, runsPasskeys: Bool = false) -> Response {
        page.question(
            title,
            body,
            problem: question.problem,
            by: errors,
            script: runsPasskeys ? .passkey : nil,
            formTarget: question.end.source
        )
    }
}

extension FactorQuestion.End {
    /// The target of the redirect after the dialog, as a source of a content security policy (CSP level 3 §2.3.1).
    ///
    /// If the target is a web page, the source is its origin. If it is an app, the source is the app's URL scheme. Nil
    /// if the dialog is in a popup, since there is no redirect.
    fileprivate var source: String? {
        guard case .redirect(let url) = self, let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = url[..<colon]
        guard scheme == "https" || scheme == "http" else { return "\(scheme):" }
        let host = url[colon...].dropFirst(3).utf8.prefix { byte in !"/?#;, ".utf8.contains(byte) }
        return "\(scheme)://\(Substring(host))"
    }
}
