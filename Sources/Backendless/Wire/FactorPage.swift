import Factors
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// The page that asks for a second factor at the end of a dialog.
///
/// It runs no script but that of passkeys, and that which hands the user over; it sends its forms to the path beside
/// its own.
struct FactorPage {
    /// The path beside `authorize` that takes what the page sends.
    static let path = "secondFactor"

    /// Bytes of the largest form: what waits holds what the provider has said of a person, sealed twice.
    static let formLimit = 1_048_576

    private let question: FactorQuestion
    private let page: WebPage

    init(_ question: FactorQuestion, _ page: WebPage) {
        self.question = question
        self.page = page
    }

    private var language: PageLanguage { page.language }
    private var fields: FactorFields { FactorFields(in: language) }

    func response() -> Response {
        switch question.step {
        case .show(let factor, let challenge, let others):
            let asking = fields.asking(
                for: factor,
                sentTo: challenge.sentTo,
                publicKey: challenge.publicKey,
                others: others,
                button: language(challenge.publicKey == nil ? .goOn : .usePasskey)
            )
            return response(
                .secondFactor,
                "<p>\(language(.showSecondFactor))</p>\n\(form(asking))",
                runsPasskeys: challenge.publicKey != nil
            )
        case .enrol(let kinds):
            let forms = kinds.map { form(enrolling($0)) }
            return response(.setUpSecondFactor, "<p>\(language(.appAsksForFactor))</p>\n\(forms.joined())")
        case .confirm(let begun):
            let other = FactorFields.choice("kinds", "yes", language(.setUpSomethingElse))
            return response(
                .setUpSecondFactor,
                form(confirming(begun)) + form(other),
                runsPasskeys: begun.publicKey != nil
            )
        case .keep(let codes, let done):
            let list = codes.map { code -> HTML in "<li><code>\(code.reveal())</code></li>\n" }.joined()
            let body: HTML = """
                <p>\(language(.keepRecoveryCodes))</p>
                <ul class="codes">
                \(list)</ul>

                """
            if let done, case .popup(let origin) = question.end {
                let message = UserReply.writeWithHeaders(done).bytes
                return page.handOver(message, to: origin, after: body, .recoveryCodes)
            }
            let button: HTML = """
                <p><button name="goOn" value="yes">\(language(.codesAreKept))</button></p>

                """
            return response(.recoveryCodes, body + form(button))
        }
    }

    /// What the page has sent.
    ///
    /// - Throws: `malformed_request`.
    static func answer(_ form: FormFields) throws(Failure) -> FactorQuestionAnswer {
        if let id = try form.value("choose").flatMap({ ObjectID($0) }) { return .choose(id) }
        if let id = try form.value("send").flatMap({ ObjectID($0) }) { return .send(id) }
        if try form.value("kinds") != nil { return .chooseKind }
        if try form.value("goOn") != nil { return .goOn }
        if let kind = try form.value("kind").flatMap({ FactorKind(rawValue: $0) }) {
            return .enrol(FactorWish(kind: kind, label: nil, target: try form.value("target")))
        }
        let response = FactorResponse(credential: try form.value("credential"), code: try form.value("code"))
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
        return """
            \(field)<p><button class="other" name="kind" value="\(kind)">\(language(wish))</button></p>

            """
    }

    private func target(_ type: HTML, _ label: PageText) -> HTML {
        """
        <p><label>\(language(label))
        <input type="\(type)" name="target" autocomplete="\(type)" required></label></p>

        """
    }

    private func confirming(_ begun: BegunFactor) -> HTML {
        let draft = HTML.hidden("draft", begun.id.reveal())
        if let options = begun.publicKey { return draft + fields.passkey(options, button: language(.makePasskey)) }
        let label = language(begun.sentTo.map { .codeSentTo($0) } ?? .codeOfNewApp)
        let code: HTML = "\(FactorFields.code(label, isNumber: true))<p><button>\(language(.goOn))</button></p>\n"
        guard let address = begun.address?.reveal() else { return draft + code }
        let query = address.split(separator: "?", maxSplits: 1).last.map(String.init)
        let secret = LenientQuery(query)["secret"] ?? ""
        return """
            \(draft)<p>\(language(.scanPicture(address: address)))</p>
            <div class="picture" role="img" aria-label="\(language(.pictureToScan))">\
            \(HTML(markup: begun.picture?.reveal() ?? ""))</div>
            <p>\(language(.key)) <code>\(secret)</code></p>
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
        page.response(
            title,
            fields.problem(question.problem) + body,
            script: runsPasskeys ? FactorFields.passkeyDigest : nil,
            status: question.problem.map { Problem().status(of: $0.reason) } ?? .ok,
            sendsForms: true,
            formTarget: question.end.source
        )
    }
}

extension FactorQuestion.End {
    /// Where the browser may be sent, as a policy writes it (Content Security Policy level 3 §2.3.1): the origin of a
    /// page, the scheme of an app; nil for a popup, which stays where it is.
    fileprivate var source: String? {
        guard case .redirect(let url) = self, let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = url[..<colon]
        guard scheme == "https" || scheme == "http" else { return "\(scheme):" }
        let host = url[colon...].dropFirst(3).utf8.prefix { byte in !"/?#;, ".utf8.contains(byte) }
        return "\(scheme)://\(Substring(host))"
    }
}
