import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// Asks an operator for a second factor: before a page, or together with a form that needs it, which is sent again with
/// the code.
enum FactorForm {
    /// The fields by which it comes: a code and of which factor it is, or what a passkey gave and what it was asked by.
    private static let code = "factor-code"
    private static let factor = "factor-id"
    private static let credential = "factor-credential"
    private static let pending = "factor-pending"

    /// The last word of the names of fields into which secrets are typed, with what people call them.
    static let secrets = [
        "appSecret": "App secret", "consumerSecret": "Consumer secret",
        "webhookVerifyToken": "Verify token of the webhook", "accessToken": "Access token",
        "password": "Password",
    ]

    static let path = "/console/second-factor"
    /// The page of the own factors.
    static let ownPath = "/console/factors"

    static func path(returningTo path: String) -> String { HTML.link(Self.path, [("to", path)]) }

    static func mount(on router: Router<ManagementContext>, _ console: Console) {
        console.page(RouterPath(path), on: router) { visit in
            let target = SignInPage.target(visit.query["to"])
            return page(
                visit.form(
                    to: path,
                    "\(HTML.hidden("to", target))\(try await fields(visit))"
                ),
                "Show your second factor to go on."
            )
        }
        console.action(RouterPath(path), on: router) { _, form in .redirect(SignInPage.target(try form.value("to"))) }
    }

    /// A form once more, with all that it held and the code besides; secrets are typed again, and so stand in no page.
    static func page(for form: FormFields, at path: String, _ refusal: Refusal, _ visit: Visit) async throws -> Page {
        let own = [code, factor, credential, pending, FormGuard.field]
        let kept = form.all.filter { !own.contains($0.name) }
            .map { field in
                let word = field.name.split(separator: "-").last.map(String.init) ?? ""
                guard let name = secrets[word], !field.value.isEmpty else {
                    return HTML.hidden(field.name, field.value)
                }
                // Not one that the browser keeps, such as the operator's own token, which it would fill in. A token for
                // a preview is nothing that is saved, and may be left out.
                let attributes: HTML = "autocomplete=\"new-password\"\(" required", if: word != "accessToken")"
                let label = "\(name), once more; this counts"
                return HTML.field(field.name, label, type: "password", attributes: attributes)
            }
        return page(visit.form(to: path, "\(kept)\(try await fields(visit))"), refusal.message, refusal.status)
    }

    /// Shows the factor that comes with a form, if one does.
    static func show(with form: FormFields, _ visit: Visit) async throws {
        var shown: JSONObject
        if let credential = try form.value(credential), !credential.isEmpty {
            do throws(Failure) {
                shown = [
                    "pending": .string(try form.value(pending) ?? ""),
                    "credential": try Console.parsed(credential, "passkey's reply"),
                ]
            } catch {
                throw Refusal(error)
            }
        } else if let code = try form.value(code) {
            let asked = try await visit.call(.init(.post, ["operator", "secondFactor", "start"])).body?.object
            shown = ["pending": asked?["pending"] ?? .null, "code": .string(code.filter { $0 != " " })]
            if let factor = try form.value(factor) { shown.append("factorId", .string(factor)) }
        } else {
            return
        }
        try await visit.call(.init(.post, ["operator", "secondFactor", "finish"], body: .object(shown)))
    }

    private static func page(_ form: HTML, _ text: String, _ status: HTTPResponse.Status = .ok) -> Page {
        Page(
            title: "Second factor",
            section: .operators,
            content: "<p>\(text)</p>\(form)",
            status: status,
            scripts: [Assets.passkeys]
        )
    }

    /// What can be shown: a code of one of the factors that have codes, or a passkey.
    private static func fields(_ visit: Visit) async throws -> HTML {
        let asked = try await visit.call(.init(.post, ["operator", "secondFactor", "start"])).body?.object
        let factors = asked?["factors"]?.array?.compactMap(\.object).filter { $0["kind"]?.string != "passkey" } ?? []
        let options = factors.map { factor -> HTML in
            let name = kind(factor["kind"]?.string)
            let label = factor["label"]?.string.map { " (\($0))" } ?? ""
            return "<option value=\"\(factor["id"]?.string ?? "")\">\(name + label)</option>"
        }
        let codes: HTML = """
            <p class="field"><label for="\(factor)">Factor</label><select id="\(factor)" name="\(factor)">\(options)</select></p>
            \(HTML.field(code, "Code", attributes: "autocomplete=\"one-time-code\" required autofocus spellcheck=\"false\""))
            <p><button>Go on</button></p>
            """
        let passkey = asked?["publicKey"].map { options -> HTML in
            """
            \(HTML.hidden(pending, asked?["pending"]?.string ?? ""))\
            \(passkeyButton("get", options, "Show a passkey", into: credential))
            """
        }
        guard !factors.isEmpty || passkey != nil else {
            return """
                <p role="alert">Your only factor is a passkey, and nothing says where this console is reached: set \
                FEDERATION_OPERATOR_ORIGIN. <code>federation operator factor remove</code> is the way back.</p>
                """
        }
        return "\(codes, if: !factors.isEmpty)\(passkey ?? "")"
    }

    /// A kind of factor in words.
    static func kind(_ kind: String?) -> String {
        switch kind {
        case "totp": "Authenticator app"
        case "recoveryCode": "Recovery code"
        case "passkey": "Passkey"
        default: kind ?? ""
        }
    }

    /// A button that has the browser make or show a passkey, and the field for what it gives; scripts alone can.
    static func passkeyButton(_ what: String, _ options: JSONValue, _ label: String, into field: String) -> HTML {
        """
        \(HTML.hidden(field, ""))<p><button type="button" class="primary" data-what="\(what)" \
        data-passkey="\(options.text)" hidden>\(label)</button></p>\
        <p class="passkey-problem" role="alert">Passkeys need JavaScript.</p>
        """
    }
}
