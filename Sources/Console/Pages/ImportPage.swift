import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The page that imports users of another system from a file, and lists all imports with their progress, those of the
/// command line, too.
extension Console {
    /// The sources of users, by the administration's names.
    private static let sources = [
        ("firebase", "Firebase"), ("auth0", "Auth0"), ("supabase", "Supabase"), ("cognito", "Amazon Cognito"),
        ("parse", "Parse"), ("backendless", "Backendless"), ("csv", "CSV"), ("ndjson", "JSON, a user on each line"),
    ]

    func mountImport(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/import"
        page(path, on: router) { visit in try await importPage(visit) }
        action(path, on: router) { visit, form in
            let application = visit.parameter("application")
            let isWritten = try form.value("do") == "write"
            do {
                let call = AdministrationCalls.Call(
                    .post,
                    ["applications", application, "imports"],
                    query: isWritten ? [] : [("dryRun", "true")],
                    body: .object(try Self.importDocument(form))
                )
                let outcome = try await visit.call(call).body?.object ?? JSONObject()
                return .page(try await importPage(visit, form, outcome: outcome))
            } catch let failure as Failure {
                return .page(try await importPage(visit, form, Refusal(failure)))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await importPage(visit, form, refusal))
            }
        }
        page(RouterPath("\(path)/{file}"), on: router) { visit in try await refusedRecordsPage(visit) }
    }

    /// The body of the call, from the form.
    private static func importDocument(_ form: FormFields) throws -> JSONObject {
        var document: JSONObject = [
            "source": .string(try form.value("source") ?? ""), "file": .string(try form.value("text") ?? ""),
            "withoutPasswords": .bool(try form.value("withoutPasswords") == "yes"),
        ]
        for (name, field) in [("former", "former"), ("hashConfig", "hashConfig")] {
            if let text = try form.value(field), !text.isEmpty { document.append(name, .string(text)) }
        }
        // A line of `name=value` each, as the command takes them.
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
        outcome: JSONObject? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let application = visit.parameter("application")
        let path = consolePath("applications", application, "import")
        let imports = try await visit.list(["applications", application, "imports"]).items
        let rows = imports.map { item -> [HTML] in
            let file = item["file"]?.string ?? ""
            let refused = item["refused"]?.integer ?? 0
            let report: HTML = """
                <a href="\(path)/\(file)">\(refused)</a>
                """
            return [
                "<code>\(file.prefix(12).description)</code>", .value(item["source"]),
                "\(item["records"]?.integer ?? 0)", "\(item["imported"]?.integer ?? 0)",
                "\(item["existing"]?.integer ?? 0)", refused > 0 ? report : "0", .moment(item["started"]),
                item["finished"]?.integer == nil ? "not at its end" : .moment(item["finished"]),
            ]
        }
        let columns = [
            "File (SHA-256)", "Source", "Records", "Imported", "There already", "Refused", "Begun", "Finished",
        ]
        return Page(
            title: "Import users",
            section: .applications,
            trail: Self.peopleTrail(of: application),
            content: """
                \(refusal?.alert ?? "")\(outcome.map(Self.outcome) ?? "")
                \(visit.role >= .owner ? try importForm(form, to: path, visit) : "")
                <h2>Imports</h2>\(HTML.table("Imports", columns, rows, ifEmpty: "There was none."))
                <p class="fine">Those of the command are here as well; load the page again to see how far one is. An \
                import that stopped goes on with the same file, under "an earlier import of this file".</p>
                """,
            command: "federation user import \(application) users.csv --from csv",
            call: "POST /admin/v1/applications/\(application)/imports",
            scripts: visit.role >= .owner ? [Assets.files] : []
        ).answering(refusal)
    }

    private func importForm(_ form: FormFields?, to path: String, _ visit: Visit) throws -> HTML {
        func typed(_ name: String) throws -> String { try form?.value(name) ?? "" }
        let chosen = try typed("source")
        let options = HTML.options(Self.sources, chosen: chosen)
        let former = try typed("former")
        let formers = HTML.options(
            [("", "is an error"), ("resume", "is gone on with"), ("restart", "is begun anew")],
            chosen: former
        )
        func area(_ name: String, _ label: String, _ hint: String, rows: Int) throws -> HTML {
            """
            <p class="field"><label for="\(name)">\(label)</label><textarea id="\(name)" name="\(name)" rows="\(rows)" \
            spellcheck="false" autocomplete="off" aria-describedby="\(name)-hint">\n\(try typed(name))</textarea>\
            <small id="\(name)-hint">\(hint)</small></p>
            """
        }
        let isWithout = try typed("withoutPasswords") == "yes"
        return visit.form(
            to: path,
            class: "import",
            """
            <p class="field"><label for="source">Where the users come from</label>\
            <select id="source" name="source">\(options)</select></p>
            \(HTML.file(into: "text"))
            \(try area("text", "Text of the file", """
            At most about 2 MB, which are some thousand users. The command takes files of any size.
            """, rows: 8))
            <details><summary>More about the file</summary>
            \(try area("hashConfig", "Firebase's parameters of hashes", """
            hash_config { … }, as Firebase's console shows it; without it, leave hashes of passwords out.
            """, rows: 3))
            <p><label class="tick"><input type="checkbox" name="withoutPasswords" value="yes"\(" checked", if: isWithout)> \
            Leave hashes of passwords out: everybody restores a password by mail</label></p>
            \(try area("apps", "Apps of providers", """
            To which app the ids of a provider belong, a line for each, such as facebook=1234567890.
            """, rows: 2))
            \(try area("columns", "Names of columns", """
            Of CSV and lines of JSON: what a field is called in the file, a line for each, such as passwordHash=pw.
            """, rows: 2))
            \(try area("mapping", "Mapping", """
            Which fields go into which properties, as JSON; without it, those of the same names.
            """, rows: 3))
            <p class="field"><label for="former">An earlier import of this file that did not come to its end</label>\
            <select id="former" name="former">\(formers)</select></p></details>
            <div class="actions"><button class="primary" name="do" value="look">Look, and write nothing</button> \
            <button name="do" value="write">Import</button></div>
            """
        )
    }

    /// What has become of the records of a file.
    private static func outcome(_ outcome: JSONObject) -> HTML {
        let isDryRun = outcome["dryRun"]?.bool ?? false
        func count(_ name: String) -> HTML { "\(outcome[name]?.integer ?? 0)" }
        let refusals = (outcome["refusals"]?.array ?? []).compactMap(\.object).map { refusal -> [HTML] in
            ["\(refusal["line"]?.integer ?? 0)", .value(refusal["reason"]), .value(refusal["message"])]
        }
        let untaken = (outcome["untaken"]?.array ?? []).compactMap(\.object).map { field -> [HTML] in
            [.value(field["field"]), "\(field["records"]?.integer ?? 0)"]
        }
        return """
            <h2>\(isDryRun ? "What would become of the file" : "Imported")</h2>
            <p role="status">\(isDryRun ? "Nothing was written." : "The file is at its end.")</p>
            \(HTML.facts([
                ("Records", count("records")), ("Imported", count("imported")), ("There already", count("existing")),
                ("Refused", count("refused")),
            ]))
            \("<h3>Refused</h3>\(HTML.table("Refused", ["Line", "Reason", "Why"], refusals, ifEmpty: ""))" as HTML, if:
                !refusals.isEmpty)
            \("<h3>Fields that were kept nowhere</h3>\(HTML.table("Fields", ["Field", "Records"], untaken, ifEmpty: ""))"
                as HTML, if: !untaken.isEmpty)
            """
    }

    private func refusedRecordsPage(_ visit: Visit) async throws -> Page {
        let (application, file) = (visit.parameter("application"), visit.parameter("file"))
        let path = consolePath("applications", application, "import")
        let call = ["applications", application, "imports", file, "refusals"]
        let found = try await visit.list(call, query: [("limit", "200")] + visit.cursor)
        let rows = found.items.map { item -> [HTML] in
            [
                "\(item["record"]?.integer ?? 0)", "\(item["line"]?.integer ?? 0)", .value(item["reason"]),
                .value(item["message"]),
            ]
        }
        return Page(
            title: "Refused records",
            section: .applications,
            trail: Self.peopleTrail(of: application) + [("Import users", path)],
            content: """
                \(HTML.table("Refused records", ["Record", "Line", "Reason", "Why"], rows, ifEmpty: "None was refused."))
                \(HTML.next(found.next, of: consolePath("applications", application, "import", file)))
                """,
            call: "GET /admin/v1/applications/\(application)/imports/\(file)/refusals"
        )
    }
}
