import API
import Applications
import Configuration
import Curl
import FoundationEssentials
import Limiting
import Logging
import Maintenance
import Postgres
import Providers
import Secrets
import Upstream
import Vocabulary

/// Every problem of the configuration at once; none of them repeats a value.
struct ConfigurationProblems: Error, CustomStringConvertible {
    var texts: [String]
    var description: String {
        "federation: the configuration is wrong\n" + texts.map { "  \($0)" }.joined(separator: "\n")
    }
}

/// Reads the variables of docs/configuration.md.
struct ConfigurationReader: UpstreamSettings {
    private let config: ConfigReader
    private var problems: [String] = []

    /// Reads environment variables, and behind them the JSON file that FEDERATION_CONFIG_FILE names.
    static func environment() throws -> ConfigurationReader {
        let environment = EnvironmentVariablesProvider()
        let file = ConfigReader(provider: environment).string(forKey: "federation.config.file")
        guard let file else { return ConfigurationReader(config: ConfigReader(provider: environment)) }
        let values = try ConfigurationFile(path: file)
        return ConfigurationReader(config: ConfigReader(providers: [environment, values.provider]))
    }

    private init(config: ConfigReader) {
        self.config = config
    }

    /// The whole configuration of `serve`.
    ///
    /// - Throws: `ConfigurationProblems` with all of them.
    static func read() throws -> ServerConfiguration {
        var reader = try environment()
        let postgres = reader.postgres()
        let masterKeys = reader.masterKeys()
        let providers = ProviderKinds.setups(from: &reader)
        let curl = reader.curl(providers)
        var limits = reader.limits()
        let admission = reader.admission(to: postgres)
        let policies = reader.policies()
        limits.searches = Limits.Searches(
            atOnce: reader.integer("concurrent.searches", default: 2, in: 1...64),
            time: reader.milliseconds("search", default: 1000),
            patience: postgres?.leaseTimeout ?? limits.searches.patience
        )
        let loginLogDays = reader.integer("login.log.days", default: 30, in: 0...3650)
        let loginRowsPerSecond = reader.integer("login.log.rows.per.second", default: 200, in: 1...1000)
        let maintenance = reader.maintenance(loginLogDays: loginLogDays)
        let passwordHashes = reader.integer("password.hashes", default: 0, in: 0...1024)
        let passwordQueue = reader.integer("password.queue", default: 256, in: 1...100_000)
        let publicURL = reader.publicURL()
        let operatorOrigin = reader.operatorOrigin() ?? publicURL
        let consoleOrigin = reader.consoleOrigin()
        let listen = reader.address("listen", default: "127.0.0.1:8080")
        let managementListen = reader.address("management.listen", default: "127.0.0.1:8081")
        let socketAccess = reader.socketAccess(
            mode: reader.text("socket.mode") ?? "660",
            group: reader.text("socket.group")
        )
        let proxies = reader.proxies("proxy.protocol.from", reader.text("proxy.protocol.from"))
        let managementProxies = reader.proxies(
            "management.proxy.protocol.from",
            reader.text("management.proxy.protocol.from")
        )
        let certificate = reader.certificate(
            "tls",
            in: reader.text("tls.certificate.file"),
            key: reader.text("tls.key.file")
        )
        let managementCertificate = reader.certificate(
            "management.tls",
            in: reader.text("management.tls.certificate.file"),
            key: reader.text("management.tls.key.file"),
            clients: reader.text("management.tls.client.ca.file")
        )
        let strictTransport = reader.integer("tls.hsts.seconds", default: 31_536_000, in: 0...63_072_000)
        let level = reader.logLevel()
        let metricsAccess = reader.metricsAccess()
        let traces = reader.traces()
        let mode = reader.mode()
        let trustedProxies = reader.trustedProxies(mode: mode)
        if trustedProxies > 0, proxies != nil {
            reader.problem(
                "proxy.protocol.from",
                "is set, and FEDERATION_TRUSTED_PROXIES is not 0; where a request comes from can have one source only"
            )
        }
        let mail = reader.mail(mode: mode)
        let sms = reader.sms()
        let httpIdle = reader.milliseconds("http.idle", default: 60_000)
        let httpRead = reader.milliseconds("http.read", default: 10_000)
        let httpWrite = reader.milliseconds("http.write", default: 10_000)
        let httpConnections = reader.integer("http.connections", default: 8192, in: 1...1_000_000)
        let sourceConnections = reader.integer("http.connections.source", default: 1024, in: 1...1_000_000)
        let waitingMebibytes = reader.integer("http.waiting.mebibytes", default: 16, in: 1...65_536)
        let drain = reader.milliseconds("drain", default: 10_000)
        guard let postgres, let masterKeys, let listen, let managementListen, let level,
            let metricsAccess, let mode,
            reader.problems.isEmpty
        else { throw ConfigurationProblems(texts: reader.problems) }
        return ServerConfiguration(
            postgres: postgres,
            masterKeys: masterKeys,
            curl: curl,
            providers: providers,
            limits: limits,
            admission: admission,
            policies: policies,
            loginRowsPerSecond: loginLogDays == 0 ? nil : loginRowsPerSecond,
            maintenance: maintenance,
            passwordHashes: passwordHashes == 0 ? onePerTwoCores : passwordHashes,
            passwordQueue: passwordQueue,
            mail: mail,
            sms: sms,
            publicURL: publicURL,
            operatorOrigin: operatorOrigin,
            consoleOrigin: consoleOrigin,
            trustedProxies: trustedProxies,
            listen: listen,
            managementListen: managementListen,
            socketAccess: socketAccess,
            proxies: proxies,
            managementProxies: managementProxies,
            certificate: certificate,
            managementCertificate: managementCertificate,
            strictTransport: strictTransport,
            logLevel: level,
            metricsAccess: metricsAccess,
            traces: traces,
            mode: mode,
            httpIdle: httpIdle,
            httpRead: httpRead,
            httpWrite: httpWrite,
            httpConnections: httpConnections,
            sourceConnections: sourceConnections,
            waitingBytes: waitingMebibytes << 20,
            drain: drain
        )
    }

    /// What keeps `serve` from starting, each as a text; none when it would start.
    static func problems() -> [String] {
        do {
            _ = try read()
            return []
        } catch { return (error as? ConfigurationProblems)?.texts ?? ["\(error)"] }
    }

    /// What `migrate` needs.
    static func readDatabase() throws -> PostgresConfiguration {
        var reader = try environment()
        guard let postgres = reader.postgres(), reader.problems.isEmpty else {
            throw ConfigurationProblems(texts: reader.problems)
        }
        return postgres
    }

    /// What the commands of operators need.
    static func readAdministration() throws -> AdministrationConfiguration {
        var reader = try environment()
        let postgres = reader.postgres()
        let masterKeys = reader.masterKeys()
        let providers = ProviderKinds.setups(from: &reader)
        let curl = reader.curl(providers)
        let mail = reader.mail(mode: reader.mode())
        let publicURL = reader.publicURL()
        guard let postgres, let masterKeys, reader.problems.isEmpty else {
            throw ConfigurationProblems(texts: reader.problems)
        }
        return AdministrationConfiguration(
            postgres: postgres,
            masterKeys: masterKeys,
            curl: curl,
            providers: providers,
            mail: mail,
            publicURL: publicURL
        )
    }

    /// Where a browser reaches the management listener; nil where that is a Unix socket and nothing else is said.
    static func readConsoleOrigin() throws -> String? {
        var reader = try environment()
        let origin = reader.consoleOrigin()
        guard reader.problems.isEmpty else { throw ConfigurationProblems(texts: reader.problems) }
        return origin
    }

    /// What sending a mail by hand needs; nil when no mails are sent.
    static func readMail() throws -> MailConfiguration? {
        var reader = try environment()
        let mode = reader.mode()
        let mail = reader.mail(mode: mode)
        guard reader.problems.isEmpty else { throw ConfigurationProblems(texts: reader.problems) }
        return mail
    }

    // MARK: Parts

    private mutating func postgres() -> PostgresConfiguration? {
        guard let url = text("database.url", isSecret: true) else {
            problem("database.url", "is not set; it looks like postgres://user:password@host:5432/database")
            return nil
        }
        var configuration: PostgresConfiguration
        do { configuration = try PostgresConfiguration(url: url) } catch {
            problem("database.url", "\(error)")
            return nil
        }
        if configuration.applicationName == PostgresConfiguration.standardName {
            configuration.applicationName = "federation"
        }
        configuration.pipelinedConnections = integer("database.pipelined.connections", default: 4, in: 1...64)
        configuration.exclusiveConnections = integer("database.exclusive.connections", default: 4, in: 1...64)
        configuration.maxQueued = integer("database.queue", default: 1024, in: 1...100_000)
        configuration.leaseTimeout = milliseconds("database.lease", default: 1000)
        configuration.statementTimeout = milliseconds("database.statement", default: 2000)
        configuration.lockTimeout = milliseconds("database.lock", default: 1000)
        configuration.idleInTransactionTimeout = milliseconds("database.idle.in.transaction", default: 5000)
        configuration.tcpUserTimeout = milliseconds("database.tcp.user", default: 5000)
        // Else it is what the URL says, or as long.
        if isSet("database.connect.milliseconds") {
            configuration.connectTimeout = milliseconds("database.connect", default: 2000)
        }
        configuration.preparedStatements = boolean("database.prepared.statements", default: true)
        return configuration
    }

    /// The key that seals, and the former one that still opens while keys are rotated.
    private mutating func masterKeys() -> MasterKeys? {
        let direct = text("master.key", isSecret: true)
        let file = text("master.key.file")
        if direct == nil, file == nil {
            problem(
                "master.key",
                "is not set, nor FEDERATION_MASTER_KEY_FILE; make one with: openssl rand -base64 32"
            )
        }
        let current = masterKey(direct, orIn: file, named: "master.key")
        let previous = masterKey(
            text("master.key.previous", isSecret: true),
            orIn: text("master.key.previous.file"),
            named: "master.key.previous"
        )
        return current.map { MasterKeys(current: $0, previous: previous.map { [$0] } ?? []) }
    }

    /// A key that is given itself or in a file; nil when there is none.
    private mutating func masterKey(_ direct: String?, orIn file: String?, named name: String) -> MasterKey? {
        if direct != nil, file != nil {
            problem(name, "and \(Self.variable(name + ".file")) are both set; set one of them")
            return nil
        }
        var key = direct
        if let file {
            key = (try? Data(contentsOf: URL(filePath: file))).map { String(decoding: $0, as: UTF8.self) }
            if key == nil { problem(name + ".file", "names a file that cannot be read: \(file)") }
        }
        guard let key else { return nil }
        do { return try MasterKey(base64: Secret(key)) } catch {
            problem(file == nil ? name : name + ".file", "\(error)")
            return nil
        }
    }

    /// The URL of something that we call, or send a browser to.
    mutating func upstream(_ key: String, default value: String) -> String? {
        checked(text(key) ?? value, of: key)
    }

    /// The text, if it is a URL that may be called.
    private mutating func checked(_ url: String, of key: String) -> String? {
        httpURL(url, of: key).map { _ in url }
    }

    /// The URL that may be called.
    mutating func httpURL(_ url: String, of key: String) -> HTTPURL? {
        do { return try HTTPURL(url) } catch {
            problem(key, "must be an https URL, or an http one of a loopback address: \(error)")
            return nil
        }
    }

    /// Where the public listener is reached from outside, without a slash at its end.
    private mutating func publicURL() -> String? {
        guard let given = text("public.url"), var url = checked(given, of: "public.url")?[...] else { return nil }
        while url.utf8.last == UInt8(ascii: "/") { url.removeLast() }
        guard !url.utf8.contains(where: { $0.isOne(of: "?#@") }) else {
            problem("public.url", "must be a URL without query, fragment or user name, like https://users.example.com")
            return nil
        }
        return String(url)
    }

    /// Where operators make and show passkeys; the public URL unless given.
    private mutating func operatorOrigin() -> String? {
        guard let given = text("operator.origin"), let url = checked(given, of: "operator.origin") else { return nil }
        guard PublicAddress(url: url).origin == url else {
            problem("operator.origin", "must be scheme, host and port alone, like https://admin.example.com")
            return nil
        }
        return url
    }

    /// Where a browser reaches the management listener: where operators are said to be, or where it listens.
    private mutating func consoleOrigin() -> String? {
        if let origin = operatorOrigin() { return origin }
        guard case .network(let host, let port) = address("management.listen", default: "127.0.0.1:8081") else {
            return nil
        }
        let scheme = text("management.tls.certificate.file") == nil ? "http" : "https"
        let name = ["0.0.0.0", "::", "127.0.0.1", "::1"].contains(host) ? "localhost" : host
        return "\(scheme)://\(name.contains(":") ? "[\(name)]" : name):\(port)"
    }

    private mutating func curl(_ providers: [UpstreamSetup]) -> CurlConfiguration {
        CurlConfiguration(
            maxInFlight: integer("graph.concurrent.calls", default: 4096, in: 1...100_000),
            // HTTP/2 needs few connections, and libcurl would open one for nearly every call of a burst; a plain-text
            // stand-in on loopback has one for each call under way.
            maxConnectionsPerHost: providers.allSatisfy(\.usesTLS) ? 64 : 4096,
            caFile: text("ca.file"),
            userAgent: "federation/" + FederationCommand.version
        )
    }

    private mutating func limits() -> Limits {
        let login = milliseconds("login", default: 5000)
        return Limits(
            login: login,
            storeReserve: min(.seconds(1), login / 5)
        )
    }

    private mutating func admission(to postgres: PostgresConfiguration?) -> Admission.Settings {
        var settings = Admission.Settings()
        settings.logins = integer("concurrent.logins", default: 2048, in: 1...100_000)
        if let postgres {
            let connections = postgres.pipelinedConnections
            // Two for each connection keep it busy.
            settings.writes = 2 * connections...postgres.pipelineDepth * connections
            settings.patience = postgres.leaseTimeout
            settings.mostWaiting = postgres.maxQueued
        }
        return settings
    }

    private mutating func policies() -> LimitPolicies {
        var policies = LimitPolicies.standard
        for policy in LimitPolicy.all {
            let key = "limit." + policy.name
            guard let text = text(key) else { continue }
            let rate = Rate(text)
            if rate == nil, text != "off" {
                problem(
                    key,
                    "must be off, or a rate like 100/s, 600/min or 100/s burst 1000, of numbers from 1 to 1000000"
                )
            }
            policies[policy] = rate
        }
        return policies
    }

    /// In production nobody is taken to have no proxy: everybody behind one that was forgotten would be one source.
    private mutating func trustedProxies(mode: ServerConfiguration.Mode?) -> Int {
        let count = integer("trusted.proxies", default: 0, in: 0...16)
        if mode == .production, !isSet("trusted.proxies") {
            problem(
                "trusted.proxies",
                "is not set; it is how many proxies in front of the public listener add to X-Forwarded-For, 0 for none"
            )
        }
        return count
    }

    /// Hashes at once unless the operator says: the other cores are left to what nobody may keep waiting.
    private static var onePerTwoCores: Int { max(ProcessInfo.processInfo.activeProcessorCount / 2, 1) }

    /// The work in the background; nil when it is switched off.
    private mutating func maintenance(loginLogDays: Int) -> Maintenance.Settings? {
        let isEnabled = boolean("upkeep.enabled", default: true)
        let settings = Maintenance.Settings(
            interval: milliseconds("upkeep.interval", default: 5000),
            lease: milliseconds("upkeep.lease", default: 60_000),
            checksPerSecond: integer("upkeep.checks.per.second", default: 10, in: 1...1000),
            loginLogDays: loginLogDays
        )
        return isEnabled ? settings : nil
    }

    private mutating func address(_ key: String, default value: String) -> ListenAddress? {
        let address = ListenAddress(text(key) ?? value)
        if address == nil {
            problem(key, "must look like \(value), or like unix:/run/federation.sock with a short path")
        }
        return address
    }

    private mutating func logLevel() -> Logger.Level? {
        let level = Logger.Level(rawValue: text("log.level") ?? "info")
        if level == nil {
            problem("log.level", "must be one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return level
    }

    /// Where the collector takes traces, by the address of its OTLP receiver.
    private mutating func traces() -> (url: HTTPURL, percent: Int)? {
        let percent = integer("traces.percent", default: 100, in: 0...100)
        guard var base = text("otlp.endpoint")?[...] else { return nil }
        while base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        return httpURL(base + "/v1/traces", of: "otlp.endpoint").map { ($0, percent) }
    }

    private mutating func metricsAccess() -> MetricsPage.Access? {
        let access = MetricsPage.Access(rawValue: text("metrics.access") ?? "open")
        if access == nil { problem("metrics.access", "must be open or operator") }
        return access
    }

    private mutating func mode() -> ServerConfiguration.Mode? {
        let mode = ServerConfiguration.Mode(rawValue: text("mode") ?? "production")
        if mode == nil { problem("mode", "must be production or development") }
        return mode
    }

    // MARK: Values

    /// The text of a variable.
    func text(_ key: String) -> String? { text(key, isSecret: false) }

    /// The text of a variable, which the configuration's own log leaves out if it is a secret.
    func text(_ key: String, isSecret: Bool) -> String? {
        let key = ConfigKey("federation." + key)
        let text = config.string(forKey: key, isSecret: isSecret)
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func isSet(_ key: String) -> Bool { text(key) != nil }

    mutating func milliseconds(_ key: String, default value: Int) -> Duration {
        .milliseconds(integer(key + ".milliseconds", default: value, in: 1...3_600_000))
    }

    private mutating func integer(_ key: String, default value: Int, in range: ClosedRange<Int>) -> Int {
        guard let text = text(key) else { return value }
        guard let number = Int(text), range.contains(number) else {
            problem(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return value
        }
        return number
    }

    private mutating func boolean(_ key: String, default value: Bool) -> Bool {
        guard let text = text(key) else { return value }
        guard let bool = Bool(text) else {
            problem(key, "must be true or false")
            return value
        }
        return bool
    }

    mutating func problem(_ key: String, _ text: String) {
        problems.append("\(Self.variable(key)) \(text)")
    }

    static func variable(_ key: String) -> String {
        "FEDERATION_" + key.split(separator: ".").map { $0.uppercased() }.joined(separator: "_")
    }
}
