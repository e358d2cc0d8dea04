import Testing

@testable import Postgres

@Suite("Configuration")
struct ConfigurationTests {
    private func configuration(_ url: String, environment: [String: String] = [:]) throws -> PostgresConfiguration {
        try PostgresConfiguration(url: url, environment: { environment[$0] })
    }

    private func refusal(_ url: String, environment: [String: String] = [:]) -> PostgresConfigurationError? {
        do {
            _ = try configuration(url, environment: environment)
            return nil
        } catch {
            return error as? PostgresConfigurationError
        }
    }

    @Test("a URL is taken apart")
    func parts() throws {
        let parsed = try configuration(
            "postgresql://an%40n:p%3Aw%2F@localhost:5433,127.0.0.1,[::1]:5434/my%20db?application_name=x&sslmode=disable"
        )
        #expect(
            parsed.hosts == [
                DatabaseHost(name: "localhost", port: 5433), DatabaseHost(name: "127.0.0.1", port: 5432),
                DatabaseHost(name: "::1", port: 5434),
            ]
        )
        #expect(parsed.user == "an@n")
        #expect(parsed.password?.text == "p:w/")
        #expect(parsed.database == "my db")
        #expect(parsed.applicationName == "x")
        #expect(parsed.targetSession == .readWrite)
    }

    @Test("what providers of databases print into their URLs is taken, or refused by name with what to do")
    func providers() throws {
        let parsed = try configuration(
            "postgres://a:b@db.example.com/c?sslmode=verify-full&sslrootcert=system&channel_binding=require"
                + "&connect_timeout=15&options=endpoint%3Dcool&sslnegotiation=postgres&gssencmode=disable"
        )
        let host = try #require(parsed.hosts.first)
        let keywords = parsed.keywords(host: host, addresses: [])
        func value(_ keyword: String) -> String? { keywords.first { $0.keyword == keyword }?.value }
        #expect(value("channel_binding") == "require")
        #expect(value("options")?.hasPrefix("endpoint=cool -c jit=off") == true)
        #expect(parsed.connectTimeout == .seconds(15))
        for (parameter, advice) in [
            ("pgbouncer=true", "prepared statements"), ("ssl=true", "sslmode=verify-full"),
            ("schema=public", "schemas are named"), ("keepalives=1", "decided here"),
        ] {
            let said = refusal("postgres://a@localhost/b?\(parameter)").map { "\($0)" } ?? ""
            #expect(said.contains(parameter.prefix { $0 != "=" }) && said.contains(advice), "\(said)")
        }
        for wrong in ["channel_binding=maybe", "connect_timeout=0", "connect_timeout=x", "sslnegotiation=direct"] {
            #expect(refusal("postgres://a@localhost/b?\(wrong)") != nil, "\(wrong)")
        }
    }

    @Test("why no connection can be had is read from libpq's words, without a password, and whether waiting helps")
    func failures() {
        let start = "connection to server at \"127.0.0.1\", port 5432 failed: "
        let wrong = ConnectFailure(
            libpq: start + "FATAL:  28P01: password authentication failed for user \"ann\"\n"
                + "LOCATION:  auth_failed, auth.c:321\n",
            hiding: nil
        )
        #expect(wrong.text == start + "FATAL: password authentication failed for user \"ann\"")
        #expect(wrong.sqlState == "28P01" && wrong.isFinal && wrong.isMisconfigured)
        let starting = ConnectFailure(libpq: start + "FATAL:  57P03: the database system is starting up\n", hiding: nil)
        #expect(!starting.isFinal)
        let refused = ConnectFailure(
            libpq: start + "Connection refused\n\tIs the server running on that host?\n",
            hiding: nil
        )
        #expect(refused.isFinal && !refused.isMisconfigured)
        #expect(refused.text == start + "Connection refused; Is the server running on that host?")
        let unbound = ConnectFailure(libpq: start + "channel binding required, but SSL not in use\n", hiding: nil)
        #expect(unbound.isFinal && unbound.isMisconfigured)
        let leaking = ConnectFailure(libpq: start + "ERROR:  no user ann with canary", hiding: "canary")
        #expect(!leaking.text.contains("canary") && !leaking.isFinal)
    }

    @Test("a socket has its folder as a parameter, and a missing database the user's name")
    func socket() throws {
        let parsed = try configuration("postgres://ann@?host=/run/postgresql&port=6000")
        #expect(parsed.hosts == [DatabaseHost(name: "/run/postgresql", port: 6000)])
        #expect(parsed.database == "ann")
        #expect(parsed.password == nil)
    }

    @Test(
        "what is wrong with a URL is said",
        arguments: [
            ("mysql://a@localhost/b", .notAPostgresURL),
            ("postgres://localhost/b", .missing("user")),
            ("postgres://a@/b", .missing("host")),
            ("postgres://a@localhost,/b", .missing("host")),
            ("postgres://a@localhost:0/b", .invalid("port", expected: "a number from 1 to 65535")),
            ("postgres://a@localhost:x/b", .invalid("port", expected: "a number from 1 to 65535")),
            ("postgres://a@[::1/b", .invalid("host", expected: "a ] after [")),
            ("postgres://a@localhost/b?nonsense=1", .unknownParameter("nonsense")),
            (
                "postgres://a@localhost/b?sslmode=maybe",
                .invalid("sslmode", expected: "disable, allow, prefer, require, verify-ca, verify-full")
            ),
            ("postgres://a@localhost/b%zz", .invalid("database", expected: "two hexadecimal digits after each %")),
            ("postgres://a@localhost/b%4", .invalid("database", expected: "two hexadecimal digits after each %")),
            ("postgres://a:%00@localhost/b", .invalid("password", expected: "UTF-8 without NUL")),
            (
                "postgres://a@localhost/b?host=/tmp",
                .invalid("host", expected: "the folder of a socket, and no other host")
            ),
            ("postgres://a@localhost/b?port=1", .invalid("port", expected: "a number after each host")),
            (
                "postgres://a@localhost/b?target_session_attrs=standby",
                .invalid("target_session_attrs", expected: "read-write, primary or any")
            ),
        ] as [(String, PostgresConfigurationError)]
    )
    func faults(url: String, expected: PostgresConfigurationError) {
        #expect(refusal(url) == expected)
    }

    @Test(
        "an unencrypted or unverified way off this machine is refused",
        arguments: ["disable", "allow", "prefer", "require", "verify-ca"]
    )
    func weakModes(mode: String) throws {
        for host in ["db.example.com", "10.0.0.1", "localhost,db", "[2001:db8::1]", "localhost.example.com"] {
            let refusal = refusal("postgres://a:canary@\(host)/b?sslmode=\(mode)")
            guard case .unverified = refusal else {
                Issue.record("\(host) with \(mode): \(String(describing: refusal))")
                continue
            }
            #expect("\(refusal.map(String.init(describing:)) ?? "")".contains("verify-full"))
            #expect(!"\(String(describing: refusal))".contains("canary"))
        }
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "[::1]", "localhost,127.0.0.1"] {
            #expect(try configuration("postgres://a@\(host)/b?sslmode=\(mode)").transport.mode == mode)
        }
    }

    @Test("without a mode the way off this machine is verified, and the way within is plain")
    func defaultModes() throws {
        let remote = try configuration("postgres://a@db.example.com/b").transport
        #expect(remote.mode == "verify-full")
        #expect(remote.rootCertificates == TransportSecurity.systemCertificates)
        #expect(remote.permits(address: "10.0.0.1"))
        let local = try configuration("postgres://a@localhost/b").transport
        #expect(local.mode == "disable")
        #expect(local.rootCertificates == nil)
        // localhost counts as this machine only while it resolves to a loopback address.
        #expect(local.permits(address: "127.0.0.1"))
        #expect(local.permits(address: "::1"))
        #expect(!local.permits(address: "10.0.0.1"))
        #expect(
            try configuration("postgres://a@db/b?sslmode=verify-full&sslrootcert=/ca.pem").transport.rootCertificates
                == "/ca.pem"
        )
    }

    @Test("libpq gets every keyword that the environment could fill in")
    func keywords() throws {
        var parsed = try configuration("postgres://ann:secret@localhost:5433/db")
        parsed.statementTimeout = .milliseconds(1500)
        parsed.lockTimeout = .zero
        parsed.settings = [("enable_seqscan", "off")]
        let keywords = parsed.keywords(host: parsed.hosts[0], addresses: ["::1", "127.0.0.1"])
        let values = Dictionary(uniqueKeysWithValues: keywords.map { ($0.keyword, $0.value) })
        #expect(values["host"] == "localhost,localhost")
        #expect(values["hostaddr"] == "::1,127.0.0.1")
        #expect(values["port"] == "5433,5433")
        #expect(values["user"] == "ann")
        #expect(values["password"] == "secret")
        #expect(values["tcp_user_timeout"] == "5000")
        #expect(values["keepalives_idle"] == "10")
        #expect(values["target_session_attrs"] == "read-write")
        #expect(
            values["options"]
                == "-c jit=off -c datestyle=ISO -c extra_float_digits=1 "
                + "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3 "
                + "-c tcp_user_timeout=5000 -c enable_seqscan=off -c statement_timeout=1500 -c lock_timeout=0 "
                + "-c idle_in_transaction_session_timeout=5000"
        )
        // An empty value would count as unset.
        #expect(keywords.allSatisfy { !$0.value.isEmpty })
        for keyword in ["passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "gssencmode", "channel_binding"] {
            #expect(values[keyword] != nil)
        }
    }

    @Test("a pooler in transaction mode gets no startup options")
    func poolerKeywords() throws {
        var parsed = try configuration("postgres://ann@localhost/db")
        parsed.preparedStatements = false
        #expect(parsed.effectiveSessionSettings == .eachTransaction)
        #expect(!parsed.keywords(host: parsed.hosts[0], addresses: []).contains { $0.keyword == "options" })
        parsed.sessionSettings = .startupOptions
        #expect(parsed.keywords(host: parsed.hosts[0], addresses: []).contains { $0.keyword == "options" })
    }

    @Test("environment variables that would win are refused")
    func environment() throws {
        #expect(refusal("postgres://a@localhost/b", environment: ["PGSERVICE": "x"]) == .environment("PGSERVICE"))
        #expect(refusal("postgres://a@localhost/b", environment: ["PGPASSWORD": "x"]) == .environment("PGPASSWORD"))
        #expect(
            refusal("postgres://a@?host=/tmp", environment: ["PGHOSTADDR": "1.2.3.4"]) == .environment("PGHOSTADDR")
        )
        #expect(
            refusal("postgres://a:b@localhost/b", environment: ["PGPASSWORD": "x", "PGHOSTADDR": "1.2.3.4"]) == nil
        )
    }

    @Test("the password shows nowhere")
    func redaction() throws {
        let parsed = try configuration("postgres://ann:canary@localhost/db")
        var dumped = ""
        dump(parsed, to: &dumped)
        for text in ["\(parsed)", String(reflecting: parsed), dumped] { #expect(!text.contains("canary")) }
    }

    @Test("durations become milliseconds within what PostgreSQL takes")
    func durations() {
        #expect(Duration.zero.milliseconds == 0)
        #expect(Duration.seconds(-5).milliseconds == 0)
        #expect(Duration.microseconds(1).milliseconds == 1)
        #expect(Duration.seconds(2).milliseconds == 2000)
        #expect(Duration.seconds(Int64.max).milliseconds == Int(Int32.max))
    }
}
