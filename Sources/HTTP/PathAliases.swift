import HTTPTypes
import HummingbirdCore

/// The addresses that a listener serves under another path.
package struct PathAliases: Sendable {
    private let hosts: [String]
    private let beginnings: [(alias: String, path: String)]

    /// - Parameters:
    ///   - hosts: The host names that become the first segment of the path. A name server may lead such a host to this
    ///     service. The client then calls the service as its own server.
    ///   - beginnings: Beginnings of paths, and the beginnings in their place.
    package init(hosts: [String] = [], beginnings: [(alias: String, path: String)] = []) {
        (self.hosts, self.beginnings) = (hosts, beginnings)
    }

    /// Returns the request with the path that is served.
    func resolved(_ request: Request) -> Request {
        let path = request.head.path ?? "/"
        var head = request.head
        if let (alias, served) = beginnings.first(where: { path.utf8.starts(with: $0.alias.utf8) }) {
            head.path = served + path.dropFirst(alias.count)
        } else if !hosts.isEmpty, let name = request.hostName,
            hosts.contains(where: { $0.utf8.elementsEqual(name.utf8) })
        {
            head.path = "/\(name)\(path)"
        } else {
            return request
        }
        return Request(head: head, body: request.body)
    }
}
