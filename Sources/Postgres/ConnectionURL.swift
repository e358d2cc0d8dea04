internal import Glibc

/// The parts of a `postgres://` URL.
struct ConnectionURL {
    let hosts: [DatabaseHost]
    let user: String
    let password: Password?
    let database: String
    let parameters: [String: String]

    private static let knownParameters: Set<String> = [
        "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslnegotiation", "target_session_attrs",
        "application_name", "channel_binding", "connect_timeout", "gssencmode", "client_encoding", "options",
    ]

    /// Returns advice about a URL parameter that other PostgreSQL clients accept and this driver refuses.
    ///
    /// Nil for any other parameter.
    private static func advice(for parameter: String) -> String? {
        switch parameter {
        case "user", "password", "dbname": "write it as in postgres://USER:PASSWORD@HOST/DATABASE"
        case "ssl", "sslaccept", "requiressl": "use sslmode=verify-full"
        case "pgbouncer", "prepareThreshold":
            "leave it out, and switch prepared statements off for a pooler in transaction mode"
        case "connection_limit", "pool_max_conns", "pool_timeout", "tcp_user_timeout", "statement_timeout",
            "lock_timeout":
            "leave it out: this has a setting of its own"
        case "schema", "currentSchema", "search_path": "leave it out: schemas are named by whoever asks"
        case "service": "write host, user and database themselves"
        case "hostaddr": "write the address in place of the host"
        case "passfile": "write the password in front of the host"
        case "sslpassword": "use a key without a password"
        case "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "fallback_application_name",
            "sslcompression", "sslsni", "ssl_min_protocol_version", "ssl_max_protocol_version", "sslcrl", "sslcrldir",
            "sslcertmode", "krbsrvname", "gsslib", "gssdelegation", "load_balance_hosts", "replication", "require_auth",
            "requirepeer":
            "leave it out: it is decided here"
        default: nil
        }
    }

    init(_ url: String) throws(PostgresConfigurationError) {
        guard url.utf8.count <= 8192 else { throw .invalid("length", expected: "at most 8192 bytes") }
        guard let rest = Self.afterScheme(url[...]) else { throw .notAPostgresURL }
        let (hierarchy, query) = Self.split(rest, at: "?")
        let (authority, path) = Self.split(hierarchy, at: "/")

        var credentials: Substring?
        var hostList = authority
        if let at = authority.lastIndex(of: "@") {
            credentials = authority[..<at]
            hostList = authority[authority.index(after: at)...]
        }

        var hosts: [DatabaseHost] = []
        for part in hostList.split(separator: ",", omittingEmptySubsequences: false) where !hostList.isEmpty {
            hosts.append(try DatabaseHost(part))
        }
        var parameters: [String: String] = [:]
        for part in (query ?? "").split(separator: "&") {
            let (encodedName, encodedValue) = Self.split(part, at: "=")
            let name = try Self.decoded(encodedName, part: "parameters")
            if let advice = Self.advice(for: name) { throw .refusedParameter(name, advice: advice) }
            guard Self.knownParameters.contains(name) else { throw .unknownParameter(name) }
            parameters[name] = try Self.decoded(encodedValue ?? "", part: name)
        }
        if let folder = parameters["host"] {
            guard hosts.isEmpty, folder.hasPrefix("/") else {
                throw .invalid("host", expected: "the folder of a socket, and no other host")
            }
            hosts = [DatabaseHost(name: folder, port: try DatabaseHost.port(parameters["port"]))]
        } else if parameters["port"] != nil {
            throw .invalid("port", expected: "a number after each host")
        }
        guard !hosts.isEmpty else { throw .missing("host") }
        self.hosts = hosts
        self.parameters = parameters

        let (encodedUser, encodedPassword) = Self.split(credentials ?? "", at: ":")
        user = try Self.decoded(encodedUser, part: "user")
        guard !user.isEmpty else { throw .missing("user") }
        let password = try Self.decoded(encodedPassword ?? "", part: "password")
        self.password = password.isEmpty ? nil : Password(text: password)
        let database = try Self.decoded(path ?? "", part: "database")
        self.database = database.isEmpty ? user : database
    }

    private static func afterScheme(_ url: Substring) -> Substring? {
        for scheme in ["postgres://", "postgresql://"] where url.hasPrefix(scheme) {
            return url.dropFirst(scheme.count)
        }
        return nil
    }

    private static func split(_ text: Substring, at separator: Character) -> (Substring, Substring?) {
        guard let index = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<index], text[text.index(after: index)...])
    }

    /// Decodes percent-encoding.
    ///
    /// A NUL byte is refused, since libpq would end the text at the NUL.
    private static func decoded(_ text: Substring, part: String) throws(PostgresConfigurationError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(Substring(rest.prefix(2))), radix: 16), rest.count >= 2 else {
                throw .invalid(part, expected: "two hexadecimal digits after each %")
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard !bytes.contains(0), let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .invalid(part, expected: "UTF-8 without NUL")
        }
        return decoded
    }
}

/// A PostgreSQL server: its port, and a host name, an IP address or the folder of a Unix socket.
struct DatabaseHost: Sendable, Hashable {
    let name: String
    let port: Int

    init(name: String, port: Int) {
        self.name = name
        self.port = port
    }

    /// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
    init(_ text: Substring) throws(PostgresConfigurationError) {
        var name = text
        var port: Substring?
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { throw .invalid("host", expected: "a ] after [") }
            name = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { throw .invalid("host", expected: "a port after ]") }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard !name.isEmpty else { throw .missing("host") }
        let number = try Self.port(port.map(String.init))
        // Percent-encoding is refused here: a name or an address needs none, and a socket has its own parameter.
        guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }) else {
            throw .invalid("host", expected: "a host name, an address, or ?host=/folder for a socket")
        }
        self.init(name: String(name), port: number)
    }

    /// Parses a port number; returns PostgreSQL's default port if the text is nil.
    static func port(_ text: String?) throws(PostgresConfigurationError) -> Int {
        guard let number = Int(text ?? "5432"), (1...65535).contains(number) else {
            throw .invalid("port", expected: "a number from 1 to 65535")
        }
        return number
    }

    /// Whether the host is the folder of a Unix socket.
    var isSocket: Bool { name.hasPrefix("/") }

    /// Whether the host is an IP address, not a name that must be resolved.
    var isAddress: Bool {
        var space = in6_addr()
        return inet_pton(AF_INET, name, &space) == 1 || inet_pton(AF_INET6, name, &space) == 1
    }

    /// Whether traffic to this host stays on this machine.
    ///
    /// True also for the name `localhost`, whose addresses are checked later, once they are resolved.
    var staysHere: Bool { isSocket || name.lowercased() == "localhost" || Self.isLoopback(address: name) }

    /// Whether `address` is in 127.0.0.0/8 or is ::1.
    static func isLoopback(address: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, address, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
}

/// Returns a variable of this process's environment.
func processEnvironment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
