import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page that lists users who have the same values, and may be the same person.
extension Console {
    /// The form fields that choose the compared properties; a search compares at most as many.
    private static let compared = ["property1", "property2", "property3", "property4"]

    func mountDuplicates(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/duplicates", on: router) { visit in
            try await duplicates(visit)
        }
    }

    private func duplicates(_ visit: Visit) async throws -> Page {
        let application = visit.application
        let path = consolePath("applications", application, "duplicates")
        let names = try await visit.list(["applications", application, "properties"]).items
            .compactMap { $0["name"]?.string }
        let chosen = Self.compared.map { (name: $0, value: visit.query[$0] ?? "") }
        let fields = zip(1..., chosen).map { number, field -> HTML in
            guard number > 1 else {
                let first = field.value.isEmpty ? PropertyName.email.text : field.value
                return """
                    <label>Same <select id="\(field.name)" name="\(field.name)">\
                    \(HTML.options(names.map { ($0, $0) }, chosen: first))</select></label>
                    """
            }
            return """
                <label>and same <select id="\(field.name)" name="\(field.name)"><option value="">–</option>\
                \(HTML.options(names.map { ($0, $0) }, chosen: field.value))</select></label>
                """
        }
        // The search reads all users, so it waits for the button.
        let wanted = chosen.map(\.value).filter { !$0.isEmpty }
        let groups = wanted.isEmpty ? nil : try await groups(by: wanted, chosen, at: path, visit)
        return Page(
            title: "Users who may be the same person",
            section: .applications,
            trail: Self.usersTrail(of: application),
            content: """
                <p>Groups of users who have the same values. Upper and lower case do not matter. Equal values prove \
                nothing: two people may share an address.</p>
                <form class="search" role="search">\(fields)<button>Search</button></form>
                <p class="fine">A search reads all users.</p>
                \(groups)
                """,
            command: "federation user duplicates \(application)",
            call: "GET /admin/v1/applications/\(application)/duplicates"
        )
    }

    private func groups(
        by properties: [String],
        _ query: [(name: String, value: String)],
        at path: String,
        _ visit: Visit
    ) async throws -> HTML {
        let found = try await visit.list(
            ["applications", visit.application, "duplicates"],
            query: [("limit", "20"), ("by", properties.joined(separator: ","))] + visit.cursor
        )
        guard !found.items.isEmpty else { return "<p class=\"empty\">No users have the same values.</p>" }
        let first: HTML = "<p>\(HTML.button("First page", to: HTML.link(path, query)))</p>"
        return """
            \(found.items.map { group($0, visit.application) })
            \(first, if: visit.query["cursor"] != nil)\(HTML.next(found.next, of: path, query))
            """
    }

    /// Returns a group: the common values as a heading, and a table of the users.
    private func group(_ group: JSONObject, _ application: String) -> HTML {
        let shared = group["shared"]?.object?.members ?? []
        let values = shared.enumerated().map { index, member -> HTML in
            "\(", ", if: index > 0)\(member.key): <bdi>\(member.value.string ?? "")</bdi>"
        }
        let label = "Users with " + shared.map { "\($0.key) \($0.value.string ?? "")" }.joined(separator: ", ")
        let users = group.objects("users")
        let table = HTML.table(label, of: users, ifEmpty: "") { user in
            let place = UserPlace(application: application, id: user.string("objectId"))
            let methods = user.strings("loginMethods").map(methodTitle)
            return [
                ("User", "<a href=\"\(place.path)\"><code>\(place.id)</code></a>"),
                ("Status", Self.status(user["userStatus"]?.string)),
                ("Address confirmed", .value(user["emailVerified"])),
                ("Login methods", "\(methods.isEmpty ? "–" : methods.joined(separator: ", "))"),
                ("Created", .moment(user["created"])), ("Last login", .moment(user["lastLogin"])),
            ]
        }
        let count = group.integer("count")
        let more: HTML = "<p class=\"fine\">The oldest \(users.count) of \(count) users.</p>"
        return "<h2>\(values)</h2>\(table)\(more, if: count > users.count)"
    }
}
