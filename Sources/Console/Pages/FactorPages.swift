import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The second factors of the operator who looks at them: enrolled, and taken away.
extension Console {
    func mountFactors(on router: Router<ManagementContext>) {
        let path = RouterPath(FactorForm.ownPath)
        page(path, on: router) { visit in try await factorsPage(visit) }
        action(path, on: router) { visit, form in
            let label = try form.value("label") ?? ""
            var wish: JSONObject = ["kind": .string(try form.value("kind") ?? "")]
            if !label.isEmpty { wish.append("label", .string(label)) }
            do {
                let begun = try await visit.call(.init(.post, ["operator", "factors"], body: .object(wish)))
                return .page(confirmationPage(begun.body?.object ?? JSONObject(), visit))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await factorsPage(visit, refusal))
            }
        }
        action("\(path)/confirm", on: router) { visit, form in
            let id = try form.value("id") ?? ""
            var shown = JSONObject()
            if let credential = try form.value("credential") {
                shown.append("credential", try Self.parsed(credential, "passkey's reply"))
            } else {
                shown.append("code", .string((try form.value("code") ?? "").filter { $0 != " " }))
            }
            do {
                let call = AdministrationCalls.Call(
                    .post,
                    ["operator", "factors", id, "confirm"],
                    body: .object(shown)
                )
                let codes = Self.codes(in: try await visit.call(call).body?.object)
                return codes.isEmpty ? .done(.enrolled, FactorForm.ownPath) : .page(codesPage(codes))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                // The code of an app can be typed again; a passkey is asked for anew.
                guard shown["code"] != nil else { return .page(try await factorsPage(visit, refusal)) }
                let again: JSONObject = ["id": .string(id), "kind": .string("totp")]
                return .page(confirmationPage(again, visit, refusal))
            }
        }
        action("\(path)/{id}/remove", on: router) { visit, _ in
            do {
                try await visit.call(.init(.delete, ["operator", "factors", visit.parameter("id")]))
                return .done(.removed, FactorForm.ownPath)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await factorsPage(visit, refusal))
            }
        }
    }

    private func factorsPage(_ visit: Visit, _ refusal: Refusal? = nil) async throws -> Page {
        let own = try await visit.read(["operator", "factors"]).object
        let factors = own?["factors"]?.array?.compactMap(\.object) ?? []
        let kinds = own?["kinds"]?.array?.compactMap(\.string) ?? []
        let rows = factors.map { factor -> [HTML] in
            let left = factor["codesLeft"]?.integer.map { "\($0) codes are left" }
            let remove = visit.form(
                to: FactorForm.ownPath + "/\(factor["id"]?.string ?? "")/remove",
                "<button class=\"danger\">Remove for good</button>"
            )
            return [
                "\(FactorForm.kind(factor["kind"]?.string))",
                .value((factor["label"]?.string ?? left).map(JSONValue.string)),
                .moment(factor["created"]), .moment(factor["lastUsed"]),
                "<details><summary>Remove</summary>\(remove)</details>",
            ]
        }
        func enrolment(_ kind: String, _ label: String) -> HTML {
            visit.form(
                to: FactorForm.ownPath,
                """
                \(HTML.hidden("kind", kind))<p class="field"><label for="label-\(kind)">What you call \
                it</label><input id="label-\(kind)" name="label" maxlength="60" autocomplete="off"></p>
                <p><button>\(label)</button></p>
                """
            )
        }
        let codes = visit.form(
            to: FactorForm.ownPath,
            """
            \(HTML.hidden("kind", "recoveryCode"))<p>Ten new ones, in place of those that are left.</p>
            <p><button>Make recovery codes</button></p>
            """
        )
        let page = Page(
            title: "Your second factors",
            section: .operators,
            trail: [("Your sessions", "/console/sessions")],
            content: """
                \(refusal?.alert ?? "")
                <p>Once you have one, it is asked for when you sign in, and again for what cannot be undone.</p>
                \(HTML.table("Factors", ["Kind", "Label", "Made", "Last used", "Remove it"], rows, ifEmpty: "There is none."))
                <div class="pair"><section><h2>Authenticator app</h2>\(enrolment("totp", "Add an authenticator app"))</section>
                \("<section><h2>Passkey</h2>\(enrolment("passkey", "Add a passkey"))</section>", if: kinds.contains("passkey"))
                \("<section><h2>Recovery codes</h2>\(codes)</section>", if: !factors.isEmpty)</div>
                """,
            call: "GET /admin/v1/operator/factors"
        )
        return page.answering(refusal)
    }

    /// What is left to do for a factor that was begun to enrol.
    private func confirmationPage(_ begun: JSONObject, _ visit: Visit, _ refusal: Refusal? = nil) -> Page {
        let codes = Self.codes(in: begun)
        guard codes.isEmpty else { return codesPage(codes) }
        let secret = begun["otpauth"]?.string.map { address -> HTML in
            """
            <figure class="qr">\(HTML(markup: begun["qr"]?.string ?? ""))\
            <figcaption>Read it with the app. On this device: <a href="\(address)">open the app</a>.</figcaption></figure>
            """
        }
        let code = HTML.field(
            "code",
            "The code that the app shows",
            attributes: "autocomplete=\"one-time-code\" inputmode=\"numeric\" required spellcheck=\"false\""
        )
        let shown =
            begun["publicKey"].map { FactorForm.passkeyButton("create", $0, "Make the passkey", into: "credential") }
            ?? "\(code)<p><button class=\"primary\">Confirm</button></p>"
        let page = Page(
            title: "Confirm it",
            section: .operators,
            trail: [("Your sessions", "/console/sessions"), ("Your second factors", FactorForm.ownPath)],
            content: """
                \(refusal?.alert ?? "")\(secret ?? "")
                \(visit.form(to: FactorForm.ownPath + "/confirm", """
                \(HTML.hidden("id", begun["id"]?.string ?? ""))\(shown)
                """))
                """,
            scripts: [Assets.passkeys]
        )
        return page.answering(refusal)
    }

    private static func codes(in reply: JSONObject?) -> [String] {
        (reply?["recoveryCodes"]?.array ?? []).compactMap(\.string)
    }

    /// Recovery codes, which are shown this once.
    private func codesPage(_ codes: [String]) -> Page {
        Page(
            title: "Recovery codes",
            section: .operators,
            trail: [("Your sessions", "/console/sessions"), ("Your second factors", FactorForm.ownPath)],
            content: """
                <p>Each of them stands in for a lost factor, once. Write them down now: they are not shown again.</p>
                <ul class="codes">\(codes.map { "<li><code>\($0)</code></li>" as HTML })</ul>
                <p><a class="button" href="\(FactorForm.ownPath)">They are written down</a></p>
                """
        )
    }
}
