/// The parts of a `postgresql://` URL.
///
/// From these parts, tests make the URLs of other databases on the same server, and URLs with another port.
package struct DatabaseURL: Sendable {
    /// The user and the password as written, with the `@`; empty without credentials.
    private let credentials: Substring
    private let host: Substring
    let port: Int
    /// The parameters as written, with the `?`; empty without parameters.
    private let parameters: Substring

    /// Parses a `postgresql://` URL.
    ///
    /// - Throws: ``NotADatabaseURL`` unless the URL has one host with a port.
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

    /// Returns the URL of a database on this server.
    ///
    /// If `port` is not `nil`, it replaces the port of the server in the URL.
    func text(database: String, port: Int? = nil) -> String {
        "postgresql://\(credentials)\(host):\(port ?? self.port)/\(database)\(parameters)"
    }
}

/// An error for a text that is not the URL of a PostgreSQL server with one host and a port.
///
/// The error does not contain the text, since the text may contain a password.
package struct NotADatabaseURL: Error {}
