import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// Asks an operator for a second factor: before a page, or together with a form that needs it, which is sent again with
/// the code.
enum FactorForm {
    /// The fields by which it comes.
    static let code = "factor-code"
    static let factor = "factor-id"

    static let path = "/console/second-factor"

    static func path(returningTo path: String) -> String { HTML.link(Self.path, [("to", path)]) }

    static func mount(on router: Router<ManagementContext>, _ console: Console) {
        console.page(RouterPath(path), on: router) { visit in
            let target = SignInPage.target(visit.query["to"])
            return page(
                visit.form(
                    to: path,
                    "<input type=\"hidden\" name=\"to\" value=\"\(target)\">\(try await fields(visit))"
                ),
                "Show your second factor to go on."
            )
        }
        console.action(RouterPath(path), on: router) { _, form in .redirect(SignInPage.target(try form.value("to"))) }
    }

    /// A form once more, with all that it held and the code besides.
    static func page(for form: FormFields, at path: String, _ refusal: Refusal, _ visit: Visit) async throws -> Page {
        let kept = form.all.filter { ![code, factor, FormGuard.field].contains($0.name) }
            .map { field -> HTML in "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">" }
        return page(visit.form(to: path, "\(kept)\(try await fields(visit))"), refusal.message, refusal.status)
    }

    /// Shows a code.
    static func show(_ code: String, of factor: String?, _ visit: Visit) async throws {
        let asked = try await visit.call(.init(.post, ["operator", "secondFactor", "start"])).body?.object
        var shown: JSONObject = ["pending": asked?["pending"] ?? .null, "code": .string(code.filter { $0 != " " })]
        if let factor { shown.append("factorId", .string(factor)) }
        try await visit.call(.init(.post, ["operator", "secondFactor", "finish"], body: .object(shown)))
    }

    private static func page(_ form: HTML, _ text: String, _ status: HTTPResponse.Status = .ok) -> Page {
        Page(title: "Second factor", section: .operators, content: "<p>\(text)</p>\(form)", status: status)
    }

    /// The factors that a code can be shown of, and the code.
    private static func fields(_ visit: Visit) async throws -> HTML {
        let asked = try await visit.call(.init(.post, ["operator", "secondFactor", "start"])).body?.object
        let factors = asked?["factors"]?.array?.compactMap(\.object).filter { $0["kind"]?.string != "passkey" } ?? []
        guard !factors.isEmpty else {
            return """
                <p role="alert">Your only factor is a passkey, which the console cannot ask for yet. Add another one by the \
                administration API.</p>
                """
        }
        let options = factors.map { factor -> HTML in
            let name = factor["kind"]?.string == "totp" ? "Authenticator app" : "Recovery code"
            let label = factor["label"]?.string.map { " (\($0))" } ?? ""
            return "<option value=\"\(factor["id"]?.string ?? "")\">\(name + label)</option>"
        }
        return """
            <p class="field"><label for="\(factor)">Factor</label><select id="\(factor)" name="\(factor)">\(options)</select></p>
            \(HTML.field(code, "Code", attributes: "autocomplete=\"one-time-code\" required autofocus spellcheck=\"false\""))
            <p><button>Go on</button></p>
            """
    }
}
