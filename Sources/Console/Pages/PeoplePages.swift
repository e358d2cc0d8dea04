import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The users of an application: found, and chosen for what is done to many at once.
extension Console {
    func mountPeople(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/users", on: router) { visit in try await people(visit) }
        action("/console/applications/{application}/users", on: router) { visit, form in
            try await treat(visit, form)
        }
        mountNewUser(on: router)
        mountErasureList(on: router)
        mountImport(on: router)
        mountPerson(on: router)
        mountPersonProperties(on: router)
    }

    /// By what people are searched, besides properties that are indexed.
    private static let searches = [
        ("email", "E-mail address"), ("name", "Part of the name"), ("objectId", "objectId"),
        ("subject", "Id at a provider"),
    ]

    private func people(_ visit: Visit) async throws -> Page {
        let application = visit.parameter("application")
        let path = consolePath("applications", application, "users")
        async let document = visit.read(["applications", application, "document"]).object
        // A search by what has no index would read everybody.
        let indexed = try await visit.list(["applications", application, "properties"]).items
            .filter { $0["indexed"]?.bool ?? false }.compactMap { $0["name"]?.string }
        let searches = Self.searches + indexed.filter { $0 != "email" && $0 != "name" }.map { ("property." + $0, $0) }
        let wanted = visit.query["by"]
        let by = searches.first { $0.0 == wanted }?.0 ?? "email"
        let value = visit.query["q"] ?? ""
        let providers = try await document?["providers"]?.object?.members.map(\.key) ?? []
        let filters = [
            ("status", "Status", UserStatus.allCases.map(\.rawValue)),
            ("provider", "Logs in by", providers + [ProviderName.password.text, "passkey"]),
        ]
        let narrowed = filters.map { (name: $0.0, value: visit.query[$0.0] ?? "") }.filter { !$0.value.isEmpty }
        var query: [(name: String, value: String)] = [("limit", "50")] + narrowed
        if !value.isEmpty {
            if by.hasPrefix("property.") {
                query += [("property", String(by.dropFirst("property.".count))), ("value", value)]
            } else {
                query.append((by, value))
            }
        }
        let found = try await visit.list(["applications", application, "users"], query: query + visit.cursor)
        let options = HTML.options(searches, chosen: by)
        let mayChange = visit.role >= .editor
        let rows = found.items.map { user -> [HTML] in
            let id = user["objectId"]?.string ?? ""
            let name = user["name"]?.string ?? user["email"]?.string ?? id
            let box: HTML = "<input type=\"checkbox\" name=\"user\" value=\"\(id)\" aria-label=\"Choose \(name)\">"
            let cells: [HTML] = [
                "<a href=\"\(consolePath("applications", application, "users", id))\"><bdi>\(name)</bdi></a>",
                .value(user["email"]), "\(user["socialAccount"]?.string.map(methodTitle) ?? "–")",
                Self.status(user["userStatus"]?.string),
                .moment(user["created"]), .moment(user["lastLogin"]),
            ]
            return (mayChange ? [box] : []) + cells
        }
        let columns = ["Name", "E-mail address", "By", "Status", "Made", "Last login"]
        let search: [(name: String, value: String)] = [("by", value.isEmpty ? "" : by), ("q", value)] + narrowed
        let selects = filters.map { name, title, values -> HTML in
            HTML.choice(name, title, values, chosen: visit.query[name] ?? "") { value in
                name == "provider" ? methodTitle(value) : value
            }
        }
        let list: HTML = """
            \(HTML.table("People", (mayChange ? ["Choose"] : []) + columns, rows, ifEmpty: """
            Nobody is found. Searches are for the whole value, but of a name; an address is found in any case of its letters.
            """))
            """
        let next: HTML = """
            <p>\("<a class=\"button\" href=\"\(HTML.link(path, search))\">First page</a> ", if: visit.query["cursor"] != nil)\
            \(found.next.map { """
            <a class="button" rel="next" href="\(HTML.link(path, search + [("cursor", $0)]))">Next page</a>
            """ } ?? "" as HTML)</p>
            """
        let eraseList: HTML = """
            <a class="button" href="\(consolePath("applications", application, "erase-list"))">Erase by a list of ids</a>
            """
        let others: HTML = """
            <p class="actions"><a class="button" href="\(consolePath("applications", application, "new-user"))">A new user</a>
            <a class="button" href="\(consolePath("applications", application, "import"))">Import</a>
            \(eraseList, if: visit.role >= .owner)</p>
            """
        return Page(
            title: "People",
            section: .applications,
            trail: Self.trail(of: application),
            content: """
                \(others, if: mayChange)
                <form class="search" role="search"><label for="by">Search by</label><select id="by" name="by">\(options)</select>
                <label for="q">what</label><input id="q" name="q" type="search" value="\(value)" spellcheck="false">
                \(selects)<button>Search</button></form>
                \(mayChange && !rows.isEmpty ? Self.choice(list + next, of: application, at: path, visit) : list + next)
                """,
            command: "federation user search \(application)",
            call: "GET /admin/v1/applications/\(application)/users",
            scripts: mayChange && !rows.isEmpty ? [Assets.people, Assets.passkeys] : []
        )
    }

    static func status(_ status: String?) -> HTML {
        "<span class=\"tag \(status ?? "")\">\(status ?? "–")</span>"
    }

    // MARK: Many at once

    /// What is done to many people, with the words for it.
    private enum Treatment: String, CaseIterable {
        case disable, enable, signOut, export, erase

        var title: String {
            switch self {
            case .disable: "Disable"
            case .enable: "Enable"
            case .signOut: "End all sessions"
            case .export: "Export all data"
            case .erase: "Erase for good"
            }
        }
    }

    /// The list as a form of who is chosen and what is done to them.
    ///
    /// A script takes over where it runs, and goes from one to the next. The key Enter presses the first button of a
    /// form, which is one that does nothing.
    private static func choice(_ list: HTML, of application: String, at path: String, _ visit: Visit) -> HTML {
        let buttons = Treatment.allCases.filter { $0 != .erase }.map { treatment -> HTML in
            "<button name=\"do\" value=\"\(treatment)\">\(treatment.title)</button>"
        }
        let erase: HTML = """
            <details class="erase"><summary>Erase those who are chosen</summary>
            \(HTML.field("confirm", "To erase them for good, type the application", hint: application, attributes: """
            autocomplete="off" spellcheck="false"
            """))
            <p><button class="danger" name="do" value="\(Treatment.erase)">Erase for good</button></p></details>
            """
        return visit.form(
            to: path,
            class: "many",
            """
            <button disabled hidden></button>\(list)
            <fieldset><legend>What is done to those who are chosen</legend>
            <p class="everybody"><label><input type="checkbox" name="everybody" value="yes"> All that this search \
            finds, on all pages</label></p>
            <div class="actions">\(buttons)</div>\(erase, if: visit.role >= .owner)
            \(progress)
            </fieldset>
            """
        )
    }

    /// Where a script says how far it is.
    static let progress: HTML = """
        <div class="progress" hidden><progress max="1" value="0" aria-label="Progress"></progress>
        <p role="status"></p><button type="button" class="stop">Stop</button><ul class="failures"></ul></div>
        """

    /// Does something to those who are chosen, whatever they are like by now, and says of each what came of it.
    private func treat(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let application = visit.parameter("application")
        let people = form.all.filter { $0.name == "user" }.map(\.value)
        guard let treatment = Treatment(rawValue: try form.value("do") ?? ""), !people.isEmpty else {
            throw Failure(.malformedRequest, "Nobody is chosen, or not what is to be done. Go back, and choose people.")
        }
        if treatment == .erase, try form.value("confirm")?.hasSameBytes(as: application) != true {
            throw Failure(.malformedRequest, "To erase people for good, type the application: \(application).")
        }
        var (exports, rows): ([String], [[HTML]]) = ([], [])
        for id in people {
            let place = PersonPlace(application: application, id: id)
            let outcome: HTML
            do {
                let answer = try await visit.call(call(treatment, place))
                if let export = answer.body, treatment == .export { exports.append(export.text) }
                outcome = "<span class=\"tag done\">done</span>"
            } catch let refusal as Refusal {
                // Nothing has been done yet, so all of it can be repeated with the factor.
                if refusal.asksForFactor, rows.isEmpty { throw refusal }
                // A file of one who could not be read would look like one that was.
                if treatment == .export, people.count == 1 { throw refusal }
                outcome = "<span class=\"tag refused\">\(refusal.message)</span>"
                if treatment == .export {
                    let failure: JSONObject = ["objectId": .string(id), "failure": .string(refusal.message)]
                    exports.append(JSONValue.object(failure).text)
                }
            }
            rows.append(["<a href=\"\(place.path)\">\(id)</a>", outcome])
        }
        guard treatment != .export else {
            return .file("users.jsonl", exports.map { $0 + "\n" }.joined())
        }
        return .page(
            Page(
                title: treatment.title,
                section: .applications,
                trail: Self.peopleTrail(of: application),
                content: HTML.table("Outcome", ["Person", "What came of it"], rows, ifEmpty: "")
            )
        )
    }

    private func call(_ treatment: Treatment, _ place: PersonPlace) -> AdministrationCalls.Call {
        switch treatment {
        case .disable, .enable: place.change(to: treatment == .disable ? "DISABLED" : "ENABLED", tag: "*")
        case .signOut: .init(.delete, place.call + ["sessions"], tag: "*")
        case .export: .init(.get, place.call + ["export"])
        case .erase: .init(.delete, place.call, query: [("confirm", place.id)], tag: "*")
        }
    }
}

/// Where a person is, in the console and in the administration.
struct PersonPlace {
    let application: String
    let id: String

    init(application: String, id: String) {
        self.application = application
        self.id = id
    }

    init(_ visit: Visit) {
        self.init(application: visit.parameter("application"), id: visit.parameter("objectId"))
    }

    var path: String { consolePath("applications", application, "users", id) }
    var call: [String] { ["applications", application, "users", id] }

    /// The pages above the person's.
    var trail: [(title: String, path: String)] { Console.peopleTrail(of: application) }

    /// Disables or enables.
    func change(to status: String, tag: String?) -> AdministrationCalls.Call {
        .init(.patch, call, body: .object(["user": .object(["userStatus": .string(status)])]), tag: tag)
    }
}
