import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which an operator erases many users at once, given a list of their ids at a provider.
///
/// Some providers send such lists of users whose data must be erased.
///
/// The page processes the list in parts. There is a form for each part. If scripts run, a script sends the forms one
/// after the other.
extension Console {
    func mountErasureList(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/erase-list"
        page(path, on: router) { visit in try await erasureListPage(visit) }
        action(path, on: router, again: { visit, form, _ in try await erasureListPage(visit, form) }) { visit, form in
            let isErased = try form.value("do") == "erase"
            let apps = try form.text("app").split(whereSeparator: \.isWhitespace).map { JSONValue.string(String($0)) }
            var list: JSONObject = [
                "provider": .string(try form.text("provider")), "ids": .string(try form.text("ids")),
                "reason": .string(try form.text("reason")),
                "after": .integer(try form.value("after").flatMap { Int64($0) } ?? 0),
            ]
            if !apps.isEmpty { list.append("apps", .array(apps)) }
            let part = try await visit.call(
                .post,
                ["applications", visit.application, "erasures"],
                list,
                query: isErased ? [("confirm", try form.text("confirm"))] : [("dryRun", "true")]
            )
            return .page(try await erasureListPage(visit, form, part: part.object))
        }
    }

    /// Returns the text that shows what happened to one id of the list.
    ///
    /// With `isErased` false, the text says what would happen.
    private static func title(_ outcome: String, isErased: Bool) -> String {
        switch outcome {
        case "user": isErased ? "User erased" : "User would be erased"
        case "identity": isErased ? "Login with the provider removed" : "Login with the provider would be removed"
        case "nobody": "No user has this id"
        case "waiting": "Waits for the delay that eraseAfterDays sets"
        case "done": "Already done"
        case "blocked": "Blocked; the service retries"
        default: outcome
        }
    }

    private func erasureListPage(
        _ visit: Visit,
        _ form: FormFields? = nil,
        part: JSONObject? = nil
    ) async throws -> Page {
        try visit.require(.owner)
        let application = visit.application
        let path = consolePath("applications", application, "erase-list")
        let providers = methods(of: try await visit.object(["applications", application, "document"]))
        let named = form.typed("provider")
        let provider = named.isEmpty ? providers.first?.value ?? "NAME" : named
        let plain: HTML = "autocomplete=\"off\" spellcheck=\"false\""
        let fields: HTML = """
            \(HTML.select("provider", "Provider", providers, chosen: named))
            \(HTML.field("app", "App at the provider", value: form.typed("app"), hint: """
            App id, if the application has several apps at the provider. Separate several ids with spaces.
            """, attributes: plain))
            \(HTML.field("reason", "Reason", value: form.typed("reason"), hint: "Stored in the audit log.", attributes: """
            required maxlength="500" autocomplete="off"
            """))
            \(HTML.file(into: "ids"))
            \(HTML.area("ids", "Ids", form.typed("ids"), rows: 8, hint: """
            One id per line, at most 1 MB.
            """, attributes: "required \(plain)"))
            """
        let erase = HTML.grave(
            "Erase these users",
            "This cannot be undone. To confirm, type the application's id",
            type: application,
            HTML.submit("Erase permanently", "class=\"danger\" name=\"do\" value=\"erase\"")
        )
        let buttons: HTML = """
            <div class="actions"><button class="primary" name="do" value="look">Preview without erasing</button></div>
            \(erase)
            """
        return Page(
            title: "Erase from a list of ids",
            section: .applications,
            trail: Self.usersTrail(of: application),
            content: """
                <p>Each id becomes a deletion request, as if the provider had sent it. A user with another login \
                method only loses the login with this provider. You can send the same list again: only the rest is \
                processed.</p>
                \(part.map { outcome($0, of: form, to: path, visit) })
                \(visit.form(to: path, class: "list", "\(fields)\(buttons)\(Self.progress)"))
                """,
            command: "federation user erase \(application) --provider \(provider) --ids ids.txt --reason list",
            call: "POST /admin/v1/applications/\(application)/erasures",
            scripts: [Assets.people, Assets.files, Assets.passkeys]
        )
    }

    /// Returns a table that shows what happened to each id of one part of the list, and the form for the next part.
    private func outcome(_ part: JSONObject, of form: FormFields?, to path: String, _ visit: Visit) -> HTML {
        let isErased = form.typed("do") == "erase"
        let table = HTML.table("Outcome", of: part.objects("outcomes"), ifEmpty: "Nothing left to do.") { outcome in
            [
                ("Line", "\(outcome.integer("line"))"), ("App", .value(outcome["appId"])),
                ("Outcome", "\(Self.title(outcome.string("outcome"), isErased: isErased))"),
                ("Confirmation code", .value(outcome["confirmationCode"])),
                ("Error", .value(outcome["obstacle"])),
            ]
        }
        let names = ["provider", "app", "reason", "ids", "confirm", "do"]
        let kept = names.map { HTML.hidden($0, form.typed($0)) }
        let next = part["next"]?.integer.map { line -> HTML in
            visit.form(
                to: path,
                """
                \(kept)\(HTML.hidden("after", String(line)))<p>The ids up to line \(line) are processed. <button \
                class="primary">Continue</button></p>
                """
            )
        }
        return """
            <script type="application/json" class="part">\(HTML(json: JSONValue.object(part).bytes))</script>
            <h2>\(isErased ? "Done" : "Preview")</h2>
            <p role="status">The list has \(part.integer("ids")) ids.</p>
            \(table)
            \(next)
            """
    }
}
