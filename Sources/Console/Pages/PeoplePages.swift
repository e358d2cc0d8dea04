import API
import HTTP
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// The users of an application: found, looked at, and what can be done about one.
extension Console {
    func mountPeople(on router: Router<ManagementContext>) {
        let person: RouterPath = "/console/applications/{application}/users/{objectId}"
        page("/console/applications/{application}/users", on: router) { visit in try await people(visit) }
        page(person, on: router) { visit in try await personPage(visit) }
        action(person, on: router) { visit, form in
            let place = PersonPlace(visit)
            let tag = try form.value("tag")
            do {
                switch try form.value("do") {
                case "disable", "enable":
                    let status = try form.value("do") == "disable" ? "DISABLED" : "ENABLED"
                    let patch: JSONValue = .object(["user": .object(["userStatus": .string(status)])])
                    try await visit.call(.init(.patch, place.call, body: patch, tag: tag))
                case "signOut": try await visit.call(.init(.delete, place.call + ["sessions"], tag: tag))
                case "refresh": try await visit.call(.init(.post, place.call + ["refresh"]))
                case "erase":
                    let confirmation = try form.value("confirm") ?? ""
                    try await visit.call(.init(.delete, place.call, query: [("confirm", confirmation)], tag: tag))
                    return .redirect(consolePath("applications", place.application, "users"))
                default: throw Failure.noSuchButton
                }
                return .redirect(place.path)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await personPage(visit, refusal))
            }
        }
        router.get(RouterPath("\(person)/export")) { request, context in
            try await download(request, context)
        }
        action("/console/applications/{application}/users/{objectId}/sessions/{session}", on: router) { visit, form in
            let place = PersonPlace(visit)
            let session = place.call + ["sessions", visit.parameter("session")]
            try await visit.call(.init(.delete, session, tag: try form.value("tag")))
            return .redirect(place.path)
        }
    }

    private struct PersonPlace {
        let application: String
        let id: String

        init(_ visit: Visit) {
            application = visit.parameter("application")
            id = visit.parameter("objectId")
        }

        var path: String { consolePath("applications", application, "users", id) }
        var call: [String] { ["applications", application, "users", id] }
    }

    /// By what people are searched.
    private static let searches = [
        ("email", "E-mail address"), ("name", "Name"), ("objectId", "objectId"), ("subject", "Id at a provider"),
    ]

    private func people(_ visit: Visit) async throws -> Page {
        let application = visit.parameter("application")
        let path = consolePath("applications", application, "users")
        let wanted = visit.query["by"]
        let by = Self.searches.first { $0.0 == wanted }?.0 ?? "email"
        let value = visit.query["q"] ?? ""
        var query: [(name: String, value: String)] = [("limit", "50")]
        if !value.isEmpty { query.append((by, value)) }
        if let cursor = visit.query["cursor"] { query.append(("cursor", cursor)) }
        let found = try await visit.list(["applications", application, "users"], query: query)
        let options = Self.searches.map { search -> HTML in
            "<option value=\"\(search.0)\"\(" selected", if: search.0 == by)>\(search.1)</option>"
        }
        let rows = found.items.map { user -> [HTML] in
            let id = user["objectId"]?.string ?? ""
            let name = user["name"]?.string ?? user["email"]?.string ?? id
            return [
                "<a href=\"\(consolePath("applications", application, "users", id))\"><bdi>\(name)</bdi></a>",
                .value(user["email"]), .value(user["socialAccount"]), Self.status(user["userStatus"]?.string),
                .moment(user["created"]), .moment(user["lastLogin"]),
            ]
        }
        return Page(
            title: "People",
            section: .applications,
            trail: [
                ("Applications", "/console/applications"), (application, consolePath("applications", application)),
            ],
            content: """
                <form class="search" role="search"><label for="by">Search by</label><select id="by" name="by">\(options)</select>
                <label for="q">what</label><input id="q" name="q" type="search" value="\(value)" spellcheck="false">
                <button>Search</button></form>
                \(HTML.table("People", ["Name", "E-mail address", "By", "Status", "Made", "Last login"], rows, ifEmpty: """
                Nobody is found. Searches are for the whole value; an address is found in any case of its letters.
                """))
                \(HTML.next(found.next, of: path, [("by", value.isEmpty ? "" : by), ("q", value)]))
                """,
            command: "federation user list \(application)",
            call: "GET /admin/v1/applications/\(application)/users"
        )
    }

    private static func status(_ status: String?) -> HTML {
        "<span class=\"tag \(status ?? "")\">\(status ?? "–")</span>"
    }

    private func personPage(_ visit: Visit, _ refusal: Refusal? = nil) async throws -> Page {
        let place = PersonPlace(visit)
        let stored = try await visit.call(.init(.get, place.call))
        let person = stored.body?.object
        let user = person?["user"]?.object ?? JSONObject()
        let properties = user.members.filter { $0.key != "___class" }
            .map { (name: $0.key, value: Self.moments.contains($0.key) ? HTML.moment($0.value) : .value($0.value)) }
        func items(_ member: String) -> [JSONObject] { person?[member]?.array?.compactMap(\.object) ?? [] }
        let identities = items("identities").map { identity -> [HTML] in
            let scopes = (identity["grantedScopes"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
            return [
                .value(identity["provider"]), .value(identity["subject"]), .value(identity["appId"]), "\(scopes)",
                .value(identity["tokenKept"]), .moment(identity["tokenExpires"]), .moment(identity["lastUsed"]),
                .moment(identity["revoked"]),
            ]
        }
        let tag: HTML = "<input type=\"hidden\" name=\"tag\" value=\"\(stored.tag ?? "")\">"
        let sessions = items("sessions").map { session -> [HTML] in
            let id = session["id"]?.string ?? ""
            let end = visit.form(
                to: place.path + "/sessions/" + id,
                "\(tag)<button class=\"danger\">End</button>"
            )
            return [
                "<code>\(id.prefix(8).description)</code>", .moment(session["created"]), .moment(session["lastSeen"]),
                .moment(session["expires"]), visit.role >= .editor ? end : "–",
            ]
        }
        let factors = items("factors").map { factor -> [HTML] in
            [.value(factor["kind"]), .value(factor["label"]), .moment(factor["created"]), .moment(factor["lastUsed"])]
        }
        let roles = (person?["roles"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
        var page = Page(
            title: user["name"]?.string ?? user["email"]?.string ?? place.id,
            section: .applications,
            trail: [
                ("Applications", "/console/applications"),
                (place.application, consolePath("applications", place.application)),
                ("People", consolePath("applications", place.application, "users")),
            ],
            content: """
                \(refusal?.alert ?? "")
                <p>\(Self.status(user["userStatus"]?.string)) \("Roles: \(roles)", if: !roles.isEmpty)</p>
                \(actions(on: place, user, tag, visit))
                <h2>Properties</h2>\(HTML.facts(properties))
                <h2>Logins by providers</h2>
                \(HTML.table("Identities", [
                    "Provider", "Id there", "App", "Permissions", "Token kept", "Token ends", "Last used", "Revoked",
                ], identities, ifEmpty: "None."))
                <h2>Password</h2><p>\(HTML.value(person?["password"]?.object?["login"]))</p>
                <h2>Second factors</h2>
                \(HTML.table("Factors", ["Kind", "Label", "Made", "Last used"], factors, ifEmpty: "None."))
                <h2>Sessions</h2>
                \(HTML.table("Sessions", ["Session", "Opened", "Last seen", "Ends", "End it"], sessions, ifEmpty: "None."))
                """,
            command: "federation user show \(place.application) \(place.id)",
            call: "GET /admin/v1/applications/\(place.application)/users/\(place.id)"
        )
        if let refusal { page.status = refusal.status }
        return page
    }

    private static let moments = ["created", "updated", "lastLogin"]

    /// What can be done, as far as the operator's role goes.
    private func actions(on place: PersonPlace, _ user: JSONObject, _ tag: HTML, _ visit: Visit) -> HTML {
        guard visit.role >= .editor else { return "" }
        let isDisabled = user["userStatus"]?.string == "DISABLED"
        func button(_ name: String, _ label: String) -> HTML {
            "<button name=\"do\" value=\"\(name)\">\(label)</button>"
        }
        let change = visit.form(
            to: place.path,
            class: "actions",
            """
            \(tag)\(isDisabled ? button("enable", "Enable") : button("disable", "Disable"))\
            \(button("signOut", "End all sessions"))\(button("refresh", "Ask the provider again"))\
            <a class="button" href="\(place.path)/export">Export all data</a>
            """
        )
        let erase = visit.form(
            to: place.path,
            """
            \(tag)<input type="hidden" name="do" value="erase">
            \(HTML.field("confirm", "To erase this person for good, type their objectId", hint: place.id, attributes: """
            required autocomplete="off" spellcheck="false"
            """))
            <p><button class="danger">Erase for good</button></p>
            """
        )
        return """
            \(change)\("<details class=\"erase\"><summary>Erase this person</summary>\(erase)</details>", if: visit.role >= .owner)
            """
    }

    /// All data of a person as a file.
    private func download(_ request: Request, _ context: ManagementContext) async throws -> Response {
        try await answer(request, context) { visit in
            let place = PersonPlace(visit)
            let export = try await visit.read(place.call + ["export"])
            let headers: HTTPFields = [
                .contentType: "application/json", .cacheControl: "no-store",
                .contentDisposition: "attachment; filename=\"user.json\"",
            ]
            let text = ByteBuffer(string: export.indented(\.text))
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: text))
        }
    }
}
