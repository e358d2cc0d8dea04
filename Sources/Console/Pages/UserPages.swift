import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which operators search an application's users, and choose several users for one action.
extension Console {
    func mountUsers(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/users"
        page(path, on: router) { visit in try await people(visit) }
        action(path, on: router) { visit, form in try await treat(visit, form) }
        mountNewUser(on: router)
        mountErasureList(on: router)
        mountImport(on: router)
        mountDuplicates(on: router)
        mountUser(on: router)
        mountUserProperties(on: router)
        mountUserMerge(on: router)
    }

    /// The fields of users by which operators can search, in addition to indexed properties.
    private static let searches = [
        ("email", "complete e-mail address"), ("name", "part of the name"), ("objectId", "user id (objectId)"),
        ("subject", "id at a provider"), ("firebaseUid", "Firebase uid"),
    ]

    private func people(_ visit: Visit) async throws -> Page {
        let application = visit.application
        let path = consolePath("applications", application, "users")
        async let document = visit.object(["applications", application, "document"])
        // A search by a property without an index would read all users.
        let indexed = try await visit.list(["applications", application, "properties"]).items
            .filter { $0.bool("indexed") }.compactMap { $0["name"]?.string }
        let searches = Self.searches + indexed.filter { $0 != "email" && $0 != "name" }.map { ("property." + $0, $0) }
        let wanted = visit.query["by"]
        let by = searches.first { $0.0 == wanted }?.0 ?? "email"
        let value = visit.query["q"] ?? ""
        let providers = try await document.object("providers").members.map(\.key)
        let filters = [
            ("status", "Status", UserStatus.allCases.map(\.rawValue)),
            ("provider", "Logs in with", providers + [ProviderName.password.text, "passkey"]),
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
        let none: HTML = """
            No users found. A search needs the complete value, except for a name. Upper and lower case do not matter \
            in an e-mail address.
            """
        let haveUIDs = found.items.contains { $0["firebaseUid"]?.string != nil }
        let table = HTML.table("Users", of: found.items, ifEmpty: none) { user in
            let id = user.string("objectId")
            let name = user["name"]?.string ?? user["email"]?.string ?? id
            let box: HTML = "<input type=\"checkbox\" name=\"user\" value=\"\(id)\" aria-label=\"Select \(name)\">"
            return (mayChange ? [("Select", box)] : []) + [
                ("Name", "<a href=\"\(consolePath("applications", application, "users", id))\"><bdi>\(name)</bdi></a>"),
                ("E-mail address", .value(user["email"])),
            ] + (haveUIDs ? [("Firebase uid", .value(user["firebaseUid"]))] : []) + [
                ("Login method", "\(user["socialAccount"]?.string.map(methodTitle) ?? "–")"),
                ("Status", Self.status(user["userStatus"]?.string)), ("Created", .moment(user["created"])),
                ("Last login", .moment(user["lastLogin"])),
            ]
        }
        let search: [(name: String, value: String)] = [("by", value.isEmpty ? "" : by), ("q", value)] + narrowed
        let selects = filters.map { name, title, values -> HTML in
            HTML.choice(name, title, values, chosen: visit.query[name] ?? "") { value in
                name == "provider" ? methodTitle(value) : Self.title(ofStatus: value)
            }
        }
        let first: HTML = "\(HTML.button("First page", to: HTML.link(path, search))) "
        let next = found.next.map { cursor -> HTML in
            "<a class=\"button\" rel=\"next\" href=\"\(HTML.link(path, search + [("cursor", cursor)]))\">Next page</a>"
        }
        let list: HTML = "\(table)<p>\(first, if: visit.query["cursor"] != nil)\(next)</p>"
        func place(_ name: String) -> String { consolePath("applications", application, name) }
        let others: HTML = """
            <p class="actions">\(HTML.button("Create a user", to: place("new-user")), if: mayChange)
            \(HTML.button("Import", to: place("import")), if: mayChange)
            \(HTML.button("Find duplicates", to: place("duplicates")))
            \(HTML.button("Erase from a list of ids", to: place("erase-list")), if: visit.role >= .owner)</p>
            """
        return Page(
            title: "Users",
            section: .applications,
            trail: Self.trail(of: application),
            content: """
                \(others)
                <form class="search" role="search">\
                <label>Search by <select id="by" name="by">\(options)</select></label>
                <label>for <input id="q" name="q" type="search" value="\(value)" spellcheck="false"></label>
                \(selects)<button>Search</button></form>
                \(mayChange && !found.items.isEmpty ? Self.choice(list, of: application, at: path, visit) : list)
                """,
            command: "federation list applications/\(application)/users",
            call: "GET /admin/v1/applications/\(application)/users",
            scripts: mayChange && !found.items.isEmpty ? [Assets.people, Assets.passkeys] : []
        )
    }

    static func status(_ status: String?) -> HTML { .tag(status.map(title(ofStatus:)) ?? "–", status ?? "") }

    /// Returns a status in words: `email confirmation pending`.
    private static func title(ofStatus status: String) -> String { status.lowercased().replacing("_", with: " ") }

    // MARK: Many at once

    /// An action that operators can apply to many users at once.
    private enum Treatment: String, CaseIterable {
        case disable, enable, signOut, export, erase

        var title: String {
            switch self {
            case .disable: "Disable"
            case .enable: "Enable"
            case .signOut: "Revoke all sessions"
            case .export: "Export all data"
            case .erase: "Erase permanently"
            }
        }
    }

    /// Returns a form with the list of users, in which operators select users and an action.
    ///
    /// If scripts run, a script processes one user after the other instead of sending the form. The Enter key would
    /// press the form's first button. So the first button does nothing.
    private static func choice(_ list: HTML, of application: String, at path: String, _ visit: Visit) -> HTML {
        let buttons = Treatment.allCases.filter { $0 != .erase }.map { treatment -> HTML in
            "<button name=\"do\" value=\"\(treatment)\">\(treatment.title)</button>"
        }
        let erase = HTML.grave(
            "Erase the selected users",
            "This cannot be undone. To confirm, type the application's id",
            type: application,
            HTML.submit("Erase permanently", "class=\"danger\" name=\"do\" value=\"\(Treatment.erase)\"")
        )
        return visit.form(
            to: path,
            class: "many",
            """
            <button disabled hidden></button>\(list)
            <fieldset><legend>Action for the selected users</legend>
            <p class="everybody"><label><input type="checkbox" name="everybody" value="yes"> All results of this \
            search, on all pages</label></p>
            <div class="actions">\(buttons)</div>\(erase, if: visit.role >= .owner)
            \(progress)
            </fieldset>
            """
        )
    }

    /// The HTML element in which the script for many users shows its progress.
    static let progress: HTML = """
        <div class="progress" hidden><progress max="1" value="0" aria-label="Progress"></progress>
        <p role="status"></p><button type="button" class="stop">Stop</button><ul class="failures"></ul></div>
        """

    /// Applies an action to each selected user, whatever the user's current state, and shows the result for each.
    private func treat(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let application = visit.application
        let people = form.texts("user")
        guard let treatment = Treatment(rawValue: try form.text("do")), !people.isEmpty else {
            throw Failure(.malformedRequest, "Go back, and select users in the list and an action.")
        }
        if treatment == .erase, try form.value("confirm")?.hasSameBytes(as: application) != true {
            throw Failure(.malformedRequest, "To confirm the erasure, type the application's id: \(application).")
        }
        var (exports, outcomes): ([String], [(UserPlace, HTML)]) = ([], [])
        for id in people {
            let place = UserPlace(application: application, id: id)
            let outcome: HTML
            do {
                let answer = try await visit.call(call(treatment, place))
                if let export = answer.body, treatment == .export { exports.append(export.text) }
                outcome = .tag("done", "done")
            } catch let refusal as Refusal {
                // No user has been processed yet. So the form can be sent again with the factor.
                if refusal.asksForFactor, outcomes.isEmpty { throw refusal }
                // With a single user, a download that contains only the failure would look like a success.
                if treatment == .export, people.count == 1 { throw refusal }
                outcome = .tag(refusal.message, "refused")
                if treatment == .export {
                    let failure: JSONObject = ["objectId": .string(id), "failure": .string(refusal.message)]
                    exports.append(JSONValue.object(failure).text)
                }
            }
            outcomes.append((place, outcome))
        }
        guard treatment != .export else {
            return .file("users.jsonl", exports.map { $0 + "\n" }.joined())
        }
        return .page(
            Page(
                title: treatment.title,
                section: .applications,
                trail: Self.usersTrail(of: application),
                content: HTML.table("Outcome", of: outcomes, ifEmpty: "") { place, outcome in
                    [("User", "<a href=\"\(place.path)\">\(place.id)</a>"), ("Result", outcome)]
                }
            )
        )
    }

    private func call(_ treatment: Treatment, _ place: UserPlace) -> AdministrationCalls.Call {
        switch treatment {
        case .disable, .enable: place.change(to: treatment == .disable ? "DISABLED" : "ENABLED", tag: "*")
        case .signOut: .init(.delete, place.call + ["sessions"], tag: "*")
        case .export: .init(.get, place.call + ["export"])
        case .erase: .init(.delete, place.call, query: [("confirm", place.id)], tag: "*")
        }
    }
}

/// The path of a user in the console and in the administration API.
struct UserPlace {
    let application: String
    let id: String

    init(application: String, id: String) {
        self.application = application
        self.id = id
    }

    init(_ visit: Visit) {
        self.init(application: visit.application, id: visit.parameter("objectId"))
    }

    var path: String { consolePath("applications", application, "users", id) }
    var call: [String] { ["applications", application, "users", id] }

    /// The links to the pages above the user's page, for its breadcrumb navigation.
    var trail: [(title: String, path: String)] { Console.usersTrail(of: application) }

    /// Returns the administration API's call that disables or enables the user.
    func change(to status: String, tag: String?) -> AdministrationCalls.Call {
        .init(.patch, call, body: .object(["user": .object(["userStatus": .string(status)])]), tag: tag)
    }
}
