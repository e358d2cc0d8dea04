/// The parts of a `postgresql://` URL that tests put together anew.
package struct DatabaseURL: Sendable {
    /// User and password as written, with the `@`; empty when there are none.
    private let credentials: Substring
    private let host: Substring
    let port: Int
    /// Parameters as written, with the `?`; empty when there are none.
    private let parameters: Substring

    /// - Throws: ``NotADatabaseURL`` for anything but one host with a port.
    package init(_ text: String) throws {
        guard let scheme = text.firstRange(of: "://") else { throw NotADatabaseURL() }
        let rest = text[scheme.upperBound...]
        let parametersStart = rest.firstIndex(of: "?") ?? rest.endIndex
        parameters = rest[parametersStart...]
        let authority = rest[..<parametersStart].prefix { $0 != "/" }
        let hostStart = authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex
        credentials = authority[..<hostStart]
        let parts = authority[hostStart...].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let port = Int(parts[1]) else { throw NotADatabaseURL() }
        host = parts[0]
        self.port = port
    }

    /// The URL of a database on this server, by another port if one is given.
    func text(database: String, port: Int? = nil) -> String {
        "postgresql://\(credentials)\(host):\(port ?? self.port)/\(database)\(parameters)"
    }
}

/// The text is no URL of a PostgreSQL server with one host and port; it is not repeated here, for it may hold a
/// password.
package struct NotADatabaseURL: Error {}
