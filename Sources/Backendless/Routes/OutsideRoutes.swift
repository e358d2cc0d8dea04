import HTTPTypes
import Hummingbird
import Vocabulary

/// What client SDKs ask of Backendless' other services: refused, so that whoever reads the message knows why.
struct OutsideRoutes {
    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .delete]

    /// What no table has here, by the path that asks for it.
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

    /// Every route; the documents of the API leave them out.
    static let refused: [(method: HTTPRequest.Method, path: String, what: String)] = {
        let paths = ofTables + services.flatMap { [($0.segment, $0.what), ($0.segment + "/**", $0.what)] }
        return paths.flatMap { path, what in methods.map { ($0, path, what) } }
    }()

    /// What is refused on a path that has a use here: the documents have these with it.
    private static let besideCreation: [(method: HTTPRequest.Method, path: String, what: String)] = [
        (.put, "data/bulk/:table", "changes of many records at once"),
        (.delete, "data/bulk/:table", "deletions of many records at once"),
    ]

    func mount(on routes: ApplicationRoutes) {
        for (method, path, what) in Self.refused + Self.besideCreation {
            routes.on(method, path) { _, _, _ in
                throw Failure(.notOffered, "This is a service of users: it has no \(what).")
            }
        }
    }
}
