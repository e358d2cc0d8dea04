import Factors
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// The page that asks for a second factor at the end of a dialog.
///
/// It runs no script but that of passkeys, and that which hands the user over; it sends its forms to the path beside
/// its own.
enum FactorPage {
    /// The path beside `authorize` that takes what the page sends.
    static let path = "secondFactor"

    /// Bytes of the largest form: what waits holds what the provider has said of a person, sealed twice.
    static let formLimit = 1_048_576

    static func page(of question: FactorQuestion) -> Response {
        switch question.step {
        case .show(let factor, let challenge, let others):
            let fields = FactorFields.asking(
                for: factor,
                sentTo: challenge.sentTo,
                publicKey: challenge.publicKey,
                others: others,
                button: challenge.publicKey == nil ? "Go on" : "Use your passkey"
            )
            return page(
                "Second factor",
                "<p>Your account is protected by a second factor. Show it to log in.</p>\n" + form(fields, question),
                of: question,
                runsPasskeys: challenge.publicKey != nil
            )
        case .enrol(let kinds):
            let forms = kinds.map { form(enrolling($0), question) }
            return page(
                "Set up a second factor",
                """
                <p>This app asks for a second factor, and your account has none yet. Set one up to log in.</p>
                \(forms.joined())
                """,
                of: question
            )
        case .confirm(let begun):
            return page(
                "Set up a second factor",
                form(confirming(begun), question) + form(choice("kinds", "Set up something else"), question),
                of: question,
                runsPasskeys: begun.publicKey != nil
            )
        case .keep(let codes, let done):
            let list = codes.map { "<li><code>\(WebPage.escaped($0.reveal()))</code></li>" }.joined(separator: "\n")
            let body = """
                <p>Keep these recovery codes where you find them when you have lost your second factor: each lets you in once. They \
                are not shown again.</p>
                <ul>
                \(list)
                </ul>

                """
            if let done, case .popup(let origin) = question.end {
                let message = UserReply.writeWithHeaders(done).bytes
                return WebPage.handOver(message, to: origin, after: "<h1>Recovery codes</h1>\n\(body)")
            }
            return page("Recovery codes", body + form(choice("goOn", "I have kept them"), question), of: question)
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
        let response = try FactorResponse(form)
        if let draft = try form.value("draft") { return .confirm(draft: draft, response) }
        return .show(try form.value("factor").flatMap { ObjectID($0) }, response)
    }

    private static func enrolling(_ kind: FactorKind) -> String {
        let (wish, field) =
            switch kind {
            case .totp: ("Use an authenticator app", "")
            case .passkey: ("Use a passkey: this device, a telephone or a security key", "")
            case .sms: ("Use codes by SMS", target("tel", "Number of your telephone, with + and the country's digits"))
            case .email: ("Use codes by mail", target("email", "E-mail address"))
            case .recoveryCode: ("", "")
            }
        return field + "<p><button name=\"kind\" value=\"\(kind.rawValue)\">\(wish)</button></p>\n"
    }

    private static func target(_ type: String, _ label: String) -> String {
        "<p><label>\(label)<br>\n<input type=\"\(type)\" name=\"target\" autocomplete=\"\(type)\" required></label></p>\n"
    }

    private static func confirming(_ begun: BegunFactor) -> String {
        var text = FactorFields.hidden("draft", begun.id.reveal())
        if let options = begun.publicKey { return text + FactorFields.passkey(options, button: "Make a passkey") }
        if let address = begun.address?.reveal() {
            let query = address.split(separator: "?", maxSplits: 1).last.map(String.init)
            let secret = LenientQuery(query)["secret"] ?? ""
            text += """
                <p>Scan this picture with your authenticator app, <a href="\(WebPage.escaped(address))">open the app</a> on this device, \
                or type the key into it.</p>
                <div>\(begun.picture?.reveal() ?? "")</div>
                <p>Key: <code>\(WebPage.escaped(secret))</code></p>

                """
        }
        let label =
            begun.sentTo.map { "The code that was sent to \(WebPage.escaped($0))" }
            ?? "The code that the app shows then"
        return text + FactorFields.code(label, isNumber: true) + "<p><button>Go on</button></p>\n"
    }

    private static func choice(_ name: String, _ text: String) -> String { FactorFields.choice(name, "yes", text) }

    private static func form(_ fields: String, _ question: FactorQuestion) -> String {
        """
        <form method="post" action="\(path)">
        \(FactorFields.hidden("login", question.login.reveal()))\(fields)</form>

        """
    }

    private static func page(
        _ title: String,
        _ body: String,
        of question: FactorQuestion,
        runsPasskeys: Bool = false
    ) -> Response {
        WebPage.response(
            title: title,
            body: "<h1>\(title)</h1>\n\(FactorFields.problem(question.problem))\(body)",
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

extension FactorResponse {
    /// What a form says: what an authenticator gave, or else a code.
    init(_ form: FormFields) throws(Failure) {
        guard let credential = try form.value("credential"), !credential.isEmpty else {
            self = .code(try form.value("code") ?? "")
            return
        }
        self = .credential((try? JSONParser.parse(credential, limits: .request)) ?? .null)
    }
}
