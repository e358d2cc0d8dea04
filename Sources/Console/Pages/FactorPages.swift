import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which an operator enrols and removes second factors of their own.
extension Console {
    func mountFactors(on router: Router<ManagementContext>) {
        let path = RouterPath(FactorForm.ownPath)
        let again: ShowAgain = { visit, _, _ in try await factorsPage(visit) }
        page(path, on: router) { visit in try await factorsPage(visit) }
        action(path, on: router, again: again) { visit, form in
            let label = try form.text("label")
            var wish: JSONObject = ["kind": .string(try form.text("kind"))]
            if !label.isEmpty { wish.append("label", .string(label)) }
            return .page(confirmationPage(try await visit.call(.post, ["operator", "factors"], wish).object, visit))
        }
        let confirmed: ShowAgain = { visit, form, _ in
            // The operator can type the code of an authenticator app again. A passkey needs a new challenge.
            guard try form.value("credential") == nil else { return try await factorsPage(visit) }
            return confirmationPage(["id": .string(try form.text("id")), "kind": .string("totp")], visit)
        }
        action("\(path)/confirm", on: router, again: confirmed) { visit, form in
            var shown = JSONObject()
            if let credential = try form.value("credential") {
                shown.append("credential", try Self.parsed(credential, "passkey response"))
            } else {
                shown.append("code", .string(try form.text("code").filter { $0 != " " }))
            }
            let call = ["operator", "factors", try form.text("id"), "confirm"]
            let codes = try await visit.call(.post, call, shown).object.strings("recoveryCodes")
            return codes.isEmpty ? .done(.enrolled, FactorForm.ownPath) : .page(codesPage(codes))
        }
        action("\(path)/{id}/remove", on: router, again: again) { visit, _ in
            try await visit.call(.delete, ["operator", "factors", visit.parameter("id")])
            return .done(.removed, FactorForm.ownPath)
        }
    }

    private func factorsPage(_ visit: Visit) async throws -> Page {
        let own = try await visit.object(["operator", "factors"])
        let factors = own.objects("factors")
        let table = HTML.table("Factors", of: factors, ifEmpty: "No second factor yet. Add one below.") { factor in
            let left = factor["codesLeft"]?.integer.map { "\($0) codes left" }
            let remove = visit.form(
                to: FactorForm.ownPath + "/\(factor.string("id"))/remove",
                "<button class=\"danger\">Remove</button>"
            )
            return [
                ("Kind", "\(FactorForm.kind(factor["kind"]?.string))"),
                ("Label", .value((factor["label"]?.string ?? left).map(JSONValue.string))),
                ("Created", .moment(factor["created"])), ("Last used", .moment(factor["lastUsed"])),
                ("Action", "<details><summary>Remove</summary>\(remove)</details>"),
            ]
        }
        func enrolment(_ kind: String, _ title: HTML, _ content: HTML, _ button: HTML) -> HTML {
            let form = visit.form(
                to: FactorForm.ownPath,
                "\(HTML.hidden("kind", kind))\(content)\(HTML.submit(button))"
            )
            return "<section><h2>\(title)</h2>\(form)</section>"
        }
        func label(_ kind: String) -> HTML {
            let attributes: HTML = "maxlength=\"60\" autocomplete=\"off\""
            return .field("label", "Name of the device", id: "label-\(kind)", attributes: attributes)
        }
        let app = enrolment("totp", "Authenticator app", label("totp"), "Add an authenticator app")
        let passkey = enrolment("passkey", "Passkey", label("passkey"), "Add a passkey")
        let codes = enrolment(
            "recoveryCode",
            "Recovery codes",
            "<p>Creates ten new codes. Former codes stop working.</p>",
            "Create recovery codes"
        )
        return Page(
            title: "Your second factors",
            section: .operators,
            trail: [("Your sessions", "/console/sessions")],
            content: """
                <p>You are asked for it when you log in, and before actions that cannot be undone.</p>
                \(table)
                <div class="pair">\(app)\(passkey, if: own.strings("kinds").contains("passkey"))\
                \(codes, if: !factors.isEmpty)</div>
                """,
            call: "GET /admin/v1/operator/factors"
        )
    }

    /// Returns the page on which the operator confirms a new second factor, by a first code or the new passkey.
    private func confirmationPage(_ begun: JSONObject, _ visit: Visit) -> Page {
        let codes = begun.strings("recoveryCodes")
        guard codes.isEmpty else { return codesPage(codes) }
        let secret = begun["otpauth"]?.string.map { address -> HTML in
            """
            <figure class="qr">\(HTML(markup: begun.string("qr")))\
            <figcaption>Scan this with the app, or <a href="\(address)">open the app on this \
            device</a>.</figcaption></figure>
            """
        }
        let code = HTML.field(
            "code",
            "Code from the app",
            attributes: "autocomplete=\"one-time-code\" inputmode=\"numeric\" required spellcheck=\"false\""
        )
        let shown =
            begun["publicKey"].map { FactorForm.passkeyButton("create", $0, "Create the passkey", into: "credential") }
            ?? "\(code)\(HTML.submit("Confirm", "class=\"primary\""))"
        let form = visit.form(to: FactorForm.ownPath + "/confirm", "\(HTML.hidden("id", begun.string("id")))\(shown)")
        return Page(
            title: "Confirm",
            section: .operators,
            trail: Self.factorsTrail,
            content: "\(secret)\(form)",
            scripts: [Assets.passkeys]
        )
    }

    private static let factorsTrail = [
        (title: "Your sessions", path: "/console/sessions"), ("Your second factors", FactorForm.ownPath),
    ]

    /// Returns the page that shows the operator's new recovery codes, which the console shows only once.
    private func codesPage(_ codes: [String]) -> Page {
        Page(
            title: "Recovery codes",
            section: .operators,
            trail: Self.factorsTrail,
            content: """
                <p>Each code replaces a lost factor once. Save them now: they are not shown again.</p>
                <ul class="codes">\(codes.map { "<li><code>\($0)</code></li>" as HTML })</ul>
                <p>\(HTML.button("I have saved them", to: FactorForm.ownPath))</p>
                """
        )
    }
}
