import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page that imports users of another system from a file.
///
/// It also lists all imports with their progress, including those of the command line.
extension Console {
    /// The sources of users, by their names in the administration API.
    private static let sources = [
        ("firebase", "Firebase"), ("auth0", "Auth0"), ("supabase", "Supabase"), ("cognito", "Amazon Cognito"),
        ("parse", "Parse"), ("backendless", "Backendless"), ("csv", "CSV"), ("ndjson", "JSON, a user on each line"),
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

    /// Creates the body of the call from the form.
    private static func importDocument(_ form: FormFields) throws -> JSONObject {
        var document: JSONObject = [
            "source": .string(try form.text("source")), "file": .string(try form.text("text")),
            "withoutPasswords": .bool(try form.value("withoutPasswords") == "yes"),
        ]
        for name in ["former", "hashConfig"] {
            if let text = try form.value(name), !text.isEmpty { document.append(name, .string(text)) }
        }
        // Lines of `name=value`, as the command accepts them.
        for name in ["apps", "columns"] {
            var pairs = JSONObject()
            for line in try form.value(name)?.split(whereSeparator: \.isNewline) ?? [] {
                let sides = line.split(separator: "=", maxSplits: 1).map(String.init)
                guard sides.count == 2 else {
                    throw Failure(.malformedRequest, "A line of \(name) is no name=value.")
                }
                pairs.append(sides[0], .string(sides[1]))
            }
            if !pairs.members.isEmpty { document.append(name, .object(pairs)) }
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
        let table = HTML.table("Imports", of: imports, ifEmpty: "There was none.") { item in
            let file = item.string("file")
            let refused = item.integer("refused")
            return [
                ("File (SHA-256)", "<code>\(file.prefix(12).description)</code>"), ("Source", .value(item["source"])),
                ("Records", "\(item.integer("records"))"), ("Imported", "\(item.integer("imported"))"),
                ("There already", "\(item.integer("existing"))"),
                ("Refused", refused > 0 ? "<a href=\"\(path)/\(file)\">\(refused)</a>" : "0"),
                ("Begun", .moment(item["started"])),
                ("Finished", item["finished"]?.integer == nil ? "not at its end" : .moment(item["finished"])),
            ]
        }
        return Page(
            title: "Import users",
            section: .applications,
            trail: Self.peopleTrail(of: application),
            content: """
                \(outcome.map(Self.outcome))\(importForm(form, to: path, visit), if: visit.role >= .owner)
                <h2>Imports</h2>\(table)
                <p class="fine">Those of the command are here as well; load the page again to see how far one is. An \
                import that stopped goes on with the same file, under "an earlier import of this file".</p>
                """,
            command: "federation user import \(application) users.csv --from csv",
            call: "POST /admin/v1/applications/\(application)/imports",
            scripts: visit.role >= .owner ? [Assets.files] : []
        )
    }

    private func importForm(_ form: FormFields?, to path: String, _ visit: Visit) -> HTML {
        let formers = [("", "is an error"), ("resume", "is gone on with"), ("restart", "is begun anew")]
        let withoutHashes = HTML.tick(
            "withoutPasswords",
            "Leave hashes of passwords out: everybody restores a password by mail",
            isTicked: form.typed("withoutPasswords") == "yes"
        )
        func area(_ name: String, _ label: HTML, _ hint: HTML, rows: Int) -> HTML {
            .area(name, label, form.typed(name), rows: rows, hint: hint)
        }
        return visit.form(
            to: path,
            class: "import",
            """
            \(HTML.select("source", "Where the users come from", Self.sources, chosen: form.typed("source")))
            \(HTML.file(into: "text"))
            \(area("text", "Text of the file", """
            At most about 2 MB, which are some thousand users. The command takes files of any size.
            """, rows: 8))
            <details><summary>More about the file</summary>
            \(area("hashConfig", "Firebase's parameters of hashes", """
            hash_config { … }, as Firebase's console shows it; without it, leave hashes of passwords out.
            """, rows: 3))
            <p>\(withoutHashes)</p>
            \(area("apps", "Apps of providers", """
            To which app the ids of a provider belong, a line for each, such as \(kinds.first?.name ?? "NAME")=1234567890.
            """, rows: 2))
            \(area("columns", "Names of columns", """
            Of CSV and lines of JSON: what a field is called in the file, a line for each, such as passwordHash=pw.
            """, rows: 2))
            \(area("mapping", "Mapping", """
            Which fields go into which properties, as JSON; without it, those of the same names.
            """, rows: 3))
            \(HTML.select(
                "former", "An earlier import of this file that did not come to its end", formers, chosen: form.typed("former")
            ))</details>
            <div class="actions"><button class="primary" name="do" value="look">Look, and write nothing</button> \
            <button name="do" value="write">Import</button></div>
            """
        )
    }

    /// Returns the outcome of a file's records.
    private static func outcome(_ outcome: JSONObject) -> HTML {
        let isDryRun = outcome.bool("dryRun")
        let counts = [
            ("Records", "records"), ("Imported", "imported"), ("There already", "existing"), ("Refused", "refused"),
        ]
        let refusals = HTML.table("Refused", of: outcome.objects("refusals"), ifEmpty: "") { refusal in
            [
                ("Line", "\(refusal.integer("line"))"), ("Reason", .value(refusal["reason"])),
                ("Why", .value(refusal["message"])),
            ]
        }
        let untaken = HTML.table("Fields", of: outcome.objects("untaken"), ifEmpty: "") { field in
            [("Field", .value(field["field"])), ("Records", "\(field.integer("records"))")]
        }
        return """
            <h2>\(isDryRun ? "What would become of the file" : "Imported")</h2>
            <p role="status">\(isDryRun ? "Nothing was written." : "The file is at its end.")</p>
            \(HTML.facts(counts.map { ("\($0.0)", "\(outcome.integer($0.1))") }))
            \("<h3>Refused</h3>\(refusals)", if: !outcome.objects("refusals").isEmpty)
            \("<h3>Fields that were kept nowhere</h3>\(untaken)", if: !outcome.objects("untaken").isEmpty)
            """
    }

    private func refusedRecordsPage(_ visit: Visit) async throws -> Page {
        let (application, file) = (visit.application, visit.parameter("file"))
        let path = consolePath("applications", application, "import")
        let call = ["applications", application, "imports", file, "refusals"]
        let found = try await visit.list(call, query: [("limit", "200")] + visit.cursor)
        let table = HTML.table("Refused records", of: found.items, ifEmpty: "None was refused.") { item in
            [
                ("Record", "\(item.integer("record"))"), ("Line", "\(item.integer("line"))"),
                ("Reason", .value(item["reason"])), ("Why", .value(item["message"])),
            ]
        }
        return Page(
            title: "Refused records",
            section: .applications,
            trail: Self.peopleTrail(of: application) + [("Import users", path)],
            content: """
                \(table)
                \(HTML.next(found.next, of: consolePath("applications", application, "import", file)))
                """,
            call: "GET /admin/v1/applications/\(application)/imports/\(file)/refusals"
        )
    }
}
