import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// Asks an operator for a second factor, before a page or together with a form that the administration has refused.
///
/// The browser then sends the refused form again, together with the code or the passkey's response.
enum FactorForm {
    /// The names of the form fields: a code and the factor's id, or a passkey's response and its pending login.
    private static let code = "factor-code"
    private static let factor = "factor-id"
    private static let credential = "factor-credential"
    private static let pending = "factor-pending"

    /// The labels of form fields with secrets, except those of providers; each key is the last word of a field's name.
    private static let secrets = ["accessToken": "Access token", "password": "Password"]

    static let path = "/console/second-factor"
    /// The path of the page on which an operator manages the operator's own second factors.
    static let ownPath = "/console/factors"

    static func path(returningTo path: String) -> String { HTML.link(Self.path, [("to", path)]) }

    static func mount(on router: Router<ManagementContext>, _ console: Console) {
        console.page(RouterPath(path), on: router) { visit in
            let target = ConsoleLoginPage.target(visit.query["to"])
            let form = visit.form(to: path, "\(HTML.hidden("to", target))\(try await fields(visit))")
            return page(form, "Enter your second factor to continue.")
        }
        console.action(RouterPath(path), on: router) { _, form in
            .redirect(ConsoleLoginPage.target(try form.value("to")))
        }
    }

    /// Returns a page that contains the refused form in hidden fields and asks for the second factor.
    ///
    /// The operator must type the form's secrets again, so no page contains a secret.
    static func page(for form: FormFields, at path: String, _ refusal: Refusal, _ visit: Visit) async throws -> Page {
        let own = [code, factor, credential, pending, FormGuard.field]
        let secrets = secrets.merging(visit.console.kinds.flatMap(\.secrets)) { own, _ in own }
        let kept = form.all.filter { !own.contains($0.name) }
            .map { field in
                let word = field.name.split(separator: "-").last.map(String.init) ?? ""
                guard let name = secrets[word], !field.value.isEmpty else {
                    return HTML.hidden(field.name, field.value)
                }
                // `new-password` keeps the browser from filling in a saved value, such as the operator's own token. The
                // access token for a preview is not stored, and may be left out.
                let attributes: HTML = "autocomplete=\"new-password\"\(" required", if: word != "accessToken")"
                let label: HTML = "\(name): enter it again"
                return HTML.field(field.name, label, type: "password", attributes: attributes)
            }
        return page(visit.form(to: path, "\(kept)\(try await fields(visit))"), refusal.message, refusal.status)
    }

    /// Verifies the second factor that the browser sent with a form; does nothing if the form has none.
    static func show(with form: FormFields, _ visit: Visit) async throws {
        var shown: JSONObject
        if let credential = try form.value(credential), !credential.isEmpty {
            shown = try await Refusal.ofFailures {
                [
                    "pending": .string(try form.text(pending)),
                    "credential": try Console.parsed(credential, "passkey response"),
                ]
            }
        } else if let code = try form.value(code) {
            let asked = try await visit.call(.post, ["operator", "secondFactor", "start"]).object
            shown = ["pending": asked["pending"] ?? .null, "code": .string(code.filter { $0 != " " })]
            if let factor = try form.value(factor) { shown.append("factorId", .string(factor)) }
        } else {
            return
        }
        try await visit.call(.post, ["operator", "secondFactor", "finish"], shown)
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

    /// Returns the form fields for a code of one of the operator's factors, or for a passkey.
    private static func fields(_ visit: Visit) async throws -> HTML {
        let asked = try await visit.call(.post, ["operator", "secondFactor", "start"]).object
        let factors = asked.objects("factors").filter { $0["kind"]?.string != "passkey" }
        let options = factors.map { factor in
            let label = factor["label"]?.string.map { " (\($0))" } ?? ""
            return (value: factor.string("id"), title: kind(factor["kind"]?.string) + label)
        }
        let codes: HTML = """
            \(HTML.select(factor, "Factor", options))
            \(HTML.field(code, "Code", attributes: "autocomplete=\"one-time-code\" required autofocus spellcheck=\"false\""))
            \(HTML.submit("Continue"))
            """
        let passkey = asked["publicKey"].map { options -> HTML in
            """
            \(HTML.hidden(pending, asked.string("pending")))\
            \(passkeyButton("get", options, "Use a passkey", into: credential))
            """
        }
        guard !factors.isEmpty || passkey != nil else {
            return """
                <p role="alert">Your only second factor is a passkey, which needs FEDERATION_OPERATOR_ORIGIN. Set it, \
                or remove the factor with <code>federation delete operators/NAME/factors</code>.</p>
                """
        }
        return "\(codes, if: !factors.isEmpty)\(passkey)"
    }

    /// Returns the displayed name of a kind of second factor.
    static func kind(_ kind: String?) -> String {
        switch kind {
        case "totp": "Authenticator app"
        case "recoveryCode": "Recovery code"
        case "passkey": "Passkey"
        default: kind ?? ""
        }
    }

    /// Returns a button that creates or uses a passkey, and the hidden field for the passkey's response.
    ///
    /// The button works only if scripts run.
    static func passkeyButton(_ what: String, _ options: JSONValue, _ label: String, into field: String) -> HTML {
        """
        \(HTML.hidden(field, ""))<p><button type="button" class="primary" data-what="\(what)" \
        data-passkey="\(options.text)" hidden>\(label)</button></p>\
        <p class="passkey-problem" role="alert">Passkeys need JavaScript. Turn it on and reload the page.</p>
        """
    }
}
