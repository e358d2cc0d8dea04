extension PostgresConfiguration {
    /// A path at which no file exists: the value of those libpq keywords that name a file and are not used.
    ///
    /// If one of the keywords were unset or empty, libpq would look for certificates and passwords in the home folder
    /// and in `PG*` environment variables.
    private static let absentFile = "/nonexistent"

    /// Returns the libpq keywords and values for a connection to `host`.
    ///
    /// If a keyword is unset, libpq takes its value from an environment variable. So the keywords are set here, except
    /// for a few, whose variables the configuration refuses or reads itself.
    ///
    /// `addresses` has the IP addresses of the host, since libpq would block the event loop if it resolved the host's
    /// name. It is empty for a Unix socket only.
    func keywords(host: DatabaseHost, addresses: [String]) -> [(keyword: String, value: String)] {
        let times = max(1, addresses.count)
        var keywords: [(keyword: String, value: String)] = [
            ("host", list(host.name, times: times)),
            ("port", list("\(host.port)", times: times)),
            ("dbname", database),
            ("user", user),
            ("passfile", Self.absentFile),
            ("client_encoding", "UTF8"),
            ("application_name", applicationName.isEmpty ? "postgres" : applicationName),
            ("target_session_attrs", targetSession.rawValue),
            ("connect_timeout", "10"),
            ("keepalives", "1"),
            ("keepalives_idle", "10"),
            ("keepalives_interval", "3"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "\(tcpUserTimeout.milliseconds)"),
            ("sslmode", transport.mode),
            ("sslrootcert", transport.rootCertificates ?? Self.absentFile),
            ("sslcert", transport.certificate ?? Self.absentFile),
            ("sslkey", transport.key ?? Self.absentFile),
            ("sslcrl", Self.absentFile),
            ("sslcrldir", Self.absentFile),
            ("sslcompression", "0"),
            ("sslsni", "1"),
            ("ssl_min_protocol_version", "TLSv1.2"),
            ("ssl_max_protocol_version", "TLSv1.3"),
            ("gssencmode", "disable"),
            ("krbsrvname", "postgres"),
            ("channel_binding", channelBinding.rawValue),
        ]
        if !addresses.isEmpty { keywords.append(("hostaddr", addresses.joined(separator: ","))) }
        if let password { keywords.append(("password", password.text)) }
        var startup = options.isEmpty ? [] : [options]
        if effectiveSessionSettings == .startupOptions {
            // All statements here are short, so compilation (JIT) never pays. While a table has no statistics,
            // PostgreSQL may estimate a statement of a millisecond as long, and then spends a second on its
            // compilation.
            let ours =
                ["jit=off"] + Self.texts + serverKeepalives + settings.map { "\($0.name)=\($0.value)" }
                + sessionLimits.map { "\($0.name)=\($0.milliseconds)" }
            startup += ours.map { "-c " + $0 }
        }
        if !startup.isEmpty { keywords.append(("options", startup.joined(separator: " "))) }
        return keywords
    }

    /// The server settings that determine the text format of dates and floating-point numbers.
    ///
    /// If the database uses the Citus extension, the program sends some values as text. These settings ensure that
    /// PostgreSQL reads the text back as the same value, whatever formats the database or the role has set.
    private static let texts = ["datestyle=ISO", "extra_float_digits=1"]

    /// The server settings for TCP keepalive, so that PostgreSQL notices a lost client.
    ///
    /// Otherwise, when the network fails silently, the session of the lost client would occupy one of the server's
    /// connections for hours. With these settings PostgreSQL notices a lost client as fast as the client notices a lost
    /// server. PostgreSQL ignores them on a Unix socket.
    private var serverKeepalives: [String] {
        [
            "tcp_keepalives_idle=10", "tcp_keepalives_interval=3", "tcp_keepalives_count=3",
            "tcp_user_timeout=\(tcpUserTimeout.milliseconds)",
        ]
    }

    /// The time limits of a session, in milliseconds; in PostgreSQL zero means no limit.
    var sessionLimits: [(name: String, milliseconds: Int)] {
        [
            ("statement_timeout", statementTimeout.milliseconds),
            ("lock_timeout", lockTimeout.milliseconds),
            ("idle_in_transaction_session_timeout", idleInTransactionTimeout.milliseconds),
        ]
    }

    private func list(_ value: String, times: Int) -> String {
        Array(repeating: value, count: times).joined(separator: ",")
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded up.
    ///
    /// The value is at least 0 and at most 2³¹ − 1, which both PostgreSQL's settings and epoll accept.
    var milliseconds: Int {
        guard self > .zero else { return 0 }
        guard self < .milliseconds(Int32.max) else { return Int(Int32.max) }
        let parts = components
        // Rounded up: a timer must not fire early and then find nothing to do.
        return Int(parts.seconds) * 1000 + Int((parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
