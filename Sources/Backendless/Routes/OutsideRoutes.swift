import Description
import Domain
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes of functions that Backendless offers and this service does not, such as files and messages.
///
/// Each request is refused with a message that states the reason.
struct OutsideRoutes {
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .delete]

    /// The refused paths below `data`, each with the name of the function that this service does not offer.
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
        ("services", "custom services"), ("servercode", "custom events"), ("automation", "automation"),
        ("commerce", "purchases"), ("management", "management of tables by clients"),
        ("transaction", "transactions of several tables"), ("log", "logs of clients"), ("logging", "logs of clients"),
    ]

    /// The routes that are refused and that the OpenAPI documents leave out.
    static let refused: [(method: HTTPRequest.Method, path: String, what: String)] = {
        let paths = ofTables + services.flatMap { [($0.segment, $0.what), ($0.segment + "/**", $0.what)] }
        return paths.flatMap { path, what in methods.map { ($0, path, what) } }
    }()

    func mount(on routes: ApplicationRoutes) {
        for (method, path, what) in Self.refused { routes.on(method, path, nil, use: Self.refusal(of: what)) }
        // These paths also have a supported method. So the OpenAPI documents list their refused methods, too.
        routes.on(.put, "data/bulk/:table", .changeUsers, use: Self.refusal(of: "changes of many records at once"))
        routes.on(.delete, "data/bulk/:table", .deleteUsers, use: Self.refusal(of: "deletions of many records at once"))
    }

    private static func refusal(of what: String) -> ApplicationRoutes.Handler {
        { _, _, _ in throw Failure(.notOffered, "This service only manages users. It has no \(what).") }
    }
}

extension Operation {
    fileprivate static let changeUsers = Operation(
        "changeUsers",
        under: "server",
        "Not supported: changes of many records at once.",
        Reply(
            404,
            as: "NotOffered",
            "not_offered; not_found for an unknown application.",
            headers: [.requestID],
            [Content(.problem)]
        )
    )

    fileprivate static let deleteUsers = changeUsers.again(
        "deleteUsers",
        "Not supported: deletions of many records at once."
    )
}
