import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Import
import Pages

/// The page that imports the users of another system from a file.
///
/// The page also lists all imports with their progress, including imports by the command line.
extension Console {
    /// The systems from which users can be imported, each with its name in the administration API.
    private static let sources = [
        ("firebase", "Firebase"), ("auth0", "Auth0"), ("supabase", "Supabase"), ("cognito", "Amazon Cognito"),
        ("parse", "Parse"), ("backendless", "Backendless"), ("csv", "CSV"), ("ndjson", "JSON, one user per line"),
    ]

    func mountImport(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/import"
        page(path, on: router) { visit in try await importPage(visit) }
        action(path, on: router, again: { visit, form, _ in try await importPage(visit, form) }) { visit, form in
            let outcome = try await visit.call(
                .post,
                ["applications", visit.application, "imports"],
                try Self.importDocument(form),
                query: try form.value("do") == "write" ? [] : [("dryRun", "true")]
            )
            return .page(try await importPage(visit, form, outcome: outcome.object))
        }
        page(RouterPath("\(path)/{file}"), on: router) { visit in try await refusedRecordsPage(visit) }
    }

    /// Creates the JSON body of the call that starts an import, from the values in the form.
    private static func importDocument(_ form: FormFields) throws -> JSONObject {
        var document: JSONObject = [
            "source": .string(try form.text("source")), "file": .string(try form.text("text")),
            "withoutPasswords": .bool(try form.value("withoutPasswords") == "yes"),
        ]
        for name in ["former", "hashConfig"] {
            if let text = try form.value(name), !text.isEmpty { document.append(name, .string(text)) }
        }
        // Lines in the notation of the command line.
        func lines(_ name: String) throws -> [String] {
            try form.value(name)?.split(whereSeparator: \.isNewline).map { String($0) } ?? []
        }
        func pairs(_ name: String) throws -> JSONObject {
            var pairs = JSONObject()
            for line in try lines(name) {
                let sides = line.split(separator: "=", maxSplits: 1).map(String.init)
                guard sides.count == 2 else {
                    throw Failure(.malformedRequest, "Each line of \(name) must be name=value.")
                }
                pairs.append(sides[0], .string(sides[1]))
            }
            return pairs
        }
        var (apps, identities) = (try pairs("apps"), JSONObject())
        for line in try lines("identities") {
            guard let identity = IdentityMember(line) else {
                let form = "provider=field or provider=field,app=ID"
                throw Failure(.malformedRequest, "Each line of identities must be \(form).")
            }
            let provider = identity.provider.text
            guard identities[provider] == nil, identity.app == nil || apps[provider] == nil else {
                throw Failure(.malformedRequest, "Name the field and the app of \(provider) once.")
            }
            identities.append(provider, .string(identity.member))
            if let app = identity.app { apps.append(provider, .string(app.text)) }
        }
        for (name, pairs) in [("apps", apps), ("columns", try pairs("columns")), ("identities", identities)]
        where !pairs.members.isEmpty {
            document.append(name, .object(pairs))
        }
        if let mapping = try form.value("mapping"), !mapping.isEmpty {
            document.append("mapping", try parsed(mapping, "mapping"))
        }
        return document
    }

    private func importPage(
        _ visit: Visit,
        _ form: FormFields? = nil,
        outcome: JSONObject? = nil
    ) async throws -> Page {
        let application = visit.application
        let path = consolePath("applications", application, "import")
        let imports = try await visit.list(["applications", application, "imports"]).items
        let table = HTML.table("Imports", of: imports, ifEmpty: "No imports yet.") { item in
            let file = item.string("file")
            let refused = item.integer("refused")
            return [
                ("File (SHA-256)", "<code>\(file.prefix(12).description)</code>"), ("Source", .value(item["source"])),
                ("Records", "\(item.integer("records"))"), ("Imported", "\(item.integer("imported"))"),
                ("Existing", "\(item.integer("existing"))"),
                ("Refused", refused > 0 ? "<a href=\"\(path)/\(file)\">\(refused)</a>" : "0"),
                ("Started", .moment(item["started"])),
                ("Finished", item["finished"]?.integer == nil ? "not finished" : .moment(item["finished"])),
            ]
        }
        return Page(
            title: "Import users",
            section: .applications,
            trail: Self.usersTrail(of: application),
            content: """
                \(outcome.map(Self.outcome))\(importForm(form, to: path, visit), if: visit.role >= .owner)
                <h2>Imports</h2>\(table)
                <p class="fine">Imports of the command line are listed too. Reload the page to see their progress. To \
                resume a stopped import, choose the same file and select it under "Unfinished import of this file".</p>
                """,
            command: "federation user import \(application) users.csv --from csv",
            call: "POST /admin/v1/applications/\(application)/imports",
            scripts: visit.role >= .owner ? [Assets.files] : []
        )
    }

    private func importForm(_ form: FormFields?, to path: String, _ visit: Visit) -> HTML {
        let formers = [("", "is an error"), ("resume", "is resumed"), ("restart", "starts again")]
        let withoutHashes = HTML.tick(
            "withoutPasswords",
            "Skip password hashes: users set a new password by mail",
            isTicked: form.typed("withoutPasswords") == "yes"
        )
        func area(_ name: String, _ label: HTML, _ hint: HTML, rows: Int) -> HTML {
            .area(name, label, form.typed(name), rows: rows, hint: hint)
        }
        return visit.form(
            to: path,
            class: "import",
            """
            \(HTML.select("source", "Source of the users", Self.sources, chosen: form.typed("source")))
            \(HTML.file(into: "text"))
            \(area("text", "Content of the file", """
            At most about 2 MB, or some thousand users. The command line has no size limit.
            """, rows: 8))
            <details><summary>More options</summary>
            \(area("hashConfig", "Firebase hash parameters", """
            hash_config { … } as the Firebase console shows it. Without it, skip password hashes.
            """, rows: 3))
            <p>\(withoutHashes)</p>
            \(area("apps", "Provider apps", """
            The app that the ids of a provider belong to, one per line, such as \
            \(kinds.first?.name ?? "NAME")=1234567890.
            """, rows: 2))
            \(area("identities", "Fields with ids at providers", """
            The field that holds a user's id at a provider, one per line, such as \
            \(kinds.first?.name ?? "NAME")=FIELD or \(kinds.first?.name ?? "NAME")=FIELD,app=1234567890.
            """, rows: 2))
            \(area("columns", "Column names", """
            For CSV and JSON lines: the name of a field in the file, one per line, such as passwordHash=pw.
            """, rows: 2))
            \(area("mapping", "Mapping", """
            Fields and their properties, as JSON. Without it, fields go to properties of the same name.
            """, rows: 3))
            \(HTML.select(
                "former", "Unfinished import of this file", formers, chosen: form.typed("former")
            ))</details>
            <div class="actions"><button class="primary" name="do" value="look">Dry run</button> \
            <button name="do" value="write">Import</button></div>
            """
        )
    }

    /// Returns HTML that shows the result of an import: the numbers of records, and which records were refused.
    private static func outcome(_ outcome: JSONObject) -> HTML {
        let isDryRun = outcome.bool("dryRun")
        let counts = [
            ("Records", "records"), ("Imported", "imported"), ("Existing", "existing"), ("Refused", "refused"),
        ]
        let refusals = HTML.table("Refused", of: outcome.objects("refusals"), ifEmpty: "") { refusal in
            [
                ("Line", "\(refusal.integer("line"))"), ("Reason", .value(refusal["reason"])),
                ("Message", .value(refusal["message"])),
            ]
        }
        let identities = HTML.table("Identities", of: outcome.objects("identities"), ifEmpty: "") { provider in
            [("Provider", .value(provider["provider"])), ("Records", "\(provider.integer("records"))")]
        }
        let unmapped = HTML.table("Fields", of: outcome.objects("unmapped"), ifEmpty: "") { field in
            [("Field", .value(field["field"])), ("Records", "\(field.integer("records"))")]
        }
        return """
            <h2>\(isDryRun ? "Dry run" : "Imported")</h2>
            <p \
            role="status">\(isDryRun ? "Nothing was written." : "The import is finished.")</p>
            \(HTML.facts(counts.map { ("\($0.0)", "\(outcome.integer($0.1))") }))
            \("<h3>Refused</h3>\(refusals)", if: !outcome.objects("refusals").isEmpty)
            \("<h3>Identities</h3>\(identities)", if: !outcome.objects("identities").isEmpty)
            \("<h3>Fields without a property</h3>\(unmapped)", if: !outcome.objects("unmapped").isEmpty)
            """
    }

    private func refusedRecordsPage(_ visit: Visit) async throws -> Page {
        let (application, file) = (visit.application, visit.parameter("file"))
        let path = consolePath("applications", application, "import")
        let call = ["applications", application, "imports", file, "refusals"]
        let found = try await visit.list(call, query: [("limit", "200")] + visit.cursor)
        let table = HTML.table("Refused records", of: found.items, ifEmpty: "No refused records.") { item in
            [
                ("Record", "\(item.integer("record"))"), ("Line", "\(item.integer("line"))"),
                ("Reason", .value(item["reason"])), ("Why", .value(item["message"])),
            ]
        }
        return Page(
            title: "Refused records",
            section: .applications,
            trail: Self.usersTrail(of: application) + [("Import users", path)],
            content: """
                \(table)
                \(HTML.next(found.next, of: consolePath("applications", application, "import", file)))
                """,
            call: "GET /admin/v1/applications/\(application)/imports/\(file)/refusals"
        )
    }
}
