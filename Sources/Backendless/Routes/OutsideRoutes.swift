import Description
import Domain
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes of Backendless' other services, which are refused with a message that says why.
struct OutsideRoutes {
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .delete]

    /// Functions of tables that this service does not offer, by path.
    private static let ofTables: [(path: String, what: String)] = [
        ("data/:table/:objectId/:relation", "relations between records"),
        ("data/:table/:objectId/:relation/load", "relations between records"),
        ("data/data-grouping/:table", "groups of records"),
        ("data/data-grouping/:table/count", "groups of records"),
        ("data/bulk/:table/delete", "deletions of many records at once"),
        ("data/bulkupsert/:table", "changes of many records at once"),
        ("data/:table/permissions/:verb/:objectId", "permissions of single records"),
    ]

    private static let services: [(segment: String, what: String)] = [
        ("files", "files"), ("messaging", "messages"), ("emailtemplate", "templates of mails"), ("geo", "places"),
        ("counters", "counters"), ("cache", "cache"), ("hive", "key-value stores"), ("rt", "real-time messages"),
        ("services", "services of your own"), ("servercode", "events of your own"), ("automation", "automation"),
        ("commerce", "purchases"), ("management", "management of tables by clients"),
        ("transaction", "transactions of several tables"), ("log", "logs of clients"), ("logging", "logs of clients"),
    ]

    /// Every refused route; the documents of the API leave them out.
    static let refused: [(method: HTTPRequest.Method, path: String, what: String)] = {
        let paths = ofTables + services.flatMap { [($0.segment, $0.what), ($0.segment + "/**", $0.what)] }
        return paths.flatMap { path, what in methods.map { ($0, path, what) } }
    }()

    func mount(on routes: ApplicationRoutes) {
        for (method, path, what) in Self.refused { routes.on(method, path, nil, use: Self.refusal(of: what)) }
        // Refused methods of a path with a supported method: the documents of the API list both.
        routes.on(.put, "data/bulk/:table", .changeUsers, use: Self.refusal(of: "changes of many records at once"))
        routes.on(.delete, "data/bulk/:table", .deleteUsers, use: Self.refusal(of: "deletions of many records at once"))
    }

    private static func refusal(of what: String) -> ApplicationRoutes.Handler {
        { _, _, _ in throw Failure(.notOffered, "This is a service of users: it has no \(what).") }
    }
}

extension Operation {
    fileprivate static let changeUsers = Operation(
        "changeUsers",
        under: "server",
        "Changes of many records at once: not offered.",
        Reply(
            404,
            as: "NotOffered",
            "not_offered; not_found for an application that is none.",
            headers: [.requestID],
            [Content(.problem)]
        )
    )

    fileprivate static let deleteUsers = changeUsers.again(
        "deleteUsers",
        "Deletions of many records at once: not offered."
    )
}
