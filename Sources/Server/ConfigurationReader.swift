import Applications
import Configuration
import Curl
import FoundationEssentials
import Limiting
import Maintenance
import Postgres
import Providers
import Secrets

/// All problems of the configuration; their texts contain no value.
struct ConfigurationProblems: Error, CustomStringConvertible {
    var texts: [String]
    var description: String {
        "federation: the configuration is not valid\n" + texts.map { "  \($0)" }.joined(separator: "\n")
    }
}

/// Reads the service's configuration variables, which docs/configuration.md lists and `VariableTable` declares.
struct ConfigurationReader: UpstreamSettings {
    private let config: ConfigReader
    private var problems: [String]

    /// Creates a reader of the environment variables and of the JSON file that FEDERATION_CONFIG_FILE names.
    ///
    /// A value in the environment takes precedence over the file. An unknown name in either is a problem.
    static func environment() throws -> ConfigurationReader {
        let environment = EnvironmentVariablesProvider()
        // Variables set to an empty text count as not set.
        let names = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }.keys
        var reader = ConfigurationReader(
            config: ConfigReader(provider: environment),
            problems: UnknownVariables.problems(environment: names)
        )
        guard let path = reader.value(ListeningVariables.configFile) else { return reader }
        let file: ConfigurationFile
        do { file = try ConfigurationFile(path: path) } catch {
            throw ConfigurationProblems(texts: reader.problems + error.texts)
        }
        return ConfigurationReader(
            config: ConfigReader(providers: [environment, file.provider]),
            problems: reader.problems + file.unknown
        )
    }

    private init(config: ConfigReader, problems: [String]) {
        (self.config, self.problems) = (config, problems)
    }

    /// Reads the whole configuration of the command `serve`.
    ///
    /// - Throws: `ConfigurationProblems` with all problems.
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
            atOnce: reader.value(NumberVariables.concurrentSearches),
            time: reader.value(TimeVariables.search),
            timeout: postgres?.leaseTimeout ?? limits.searches.timeout
        )
        let loginLogDays = reader.value(ListeningVariables.loginLogDays)
        let loginRowsPerSecond = reader.value(NumberVariables.loginLogRowsPerSecond)
        let maintenance = reader.maintenance(loginLogDays: loginLogDays)
        let passwordHashes = reader.value(NumberVariables.passwordHashes)
        let passwordQueue = reader.value(NumberVariables.passwordQueue)
        let publicURL = reader.value(ListeningVariables.publicURL)
        let operatorOrigin = reader.value(ListeningVariables.operatorOrigin) ?? publicURL
        let consoleOrigin = reader.consoleOrigin()
        let listen = reader.value(ListeningVariables.listen)
        let managementListen = reader.value(ListeningVariables.managementListen)
        let socketAccess = UnixSocket.Access(
            mode: reader.value(ListeningVariables.socketMode),
            group: reader.value(ListeningVariables.socketGroup)
        )
        let proxies = reader.value(ListeningVariables.proxies)
        let managementProxies = reader.value(ListeningVariables.managementProxies)
        let certificate = reader.certificate(in: TLSVariables.certificate, key: TLSVariables.key)
        let managementCertificate = reader.certificate(
            in: TLSVariables.managementCertificate,
            key: TLSVariables.managementKey,
            clients: TLSVariables.managementClients
        )
        let strictTransport = reader.value(TLSVariables.strictTransport)
        let logLevel = reader.value(ListeningVariables.logLevel)
        let metricsAccess = reader.value(ListeningVariables.metricsAccess)
        let traces = reader.traces()
        let mode = reader.valid(ListeningVariables.mode)
        let trustedProxies = reader.trustedProxies(mode: mode)
        if trustedProxies > 0, proxies != nil {
            reader.problem(
                ListeningVariables.proxies,
                "is set, and \(NeededVariables.trustedProxies.name) is not 0; set only one of them"
            )
        }
        let mail = reader.mail(mode: mode)
        let sms = reader.sms()
        let httpIdle = reader.value(TimeVariables.httpIdle)
        let httpRead = reader.value(TimeVariables.httpRead)
        let httpWrite = reader.value(TimeVariables.httpWrite)
        let httpConnections = reader.value(NumberVariables.httpConnections)
        let sourceConnections = reader.value(NumberVariables.httpConnectionsOfSource)
        let waitingMebibytes = reader.value(NumberVariables.httpWaitingMebibytes)
        let drain = reader.value(TimeVariables.drain)
        guard let postgres, let masterKeys, let mode, reader.problems.isEmpty else {
            throw ConfigurationProblems(texts: reader.problems)
        }
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
            logLevel: logLevel,
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

    /// Returns the configuration problems that keep `serve` from starting; empty if there are none.
    static func problems() -> [String] {
        do {
            _ = try read()
            return []
        } catch { return (error as? ConfigurationProblems)?.texts ?? ["\(error)"] }
    }

    /// Reads the configuration of the command `migrate`: the connection to the database.
    static func readDatabase() throws -> PostgresConfiguration {
        var reader = try environment()
        guard let postgres = reader.postgres(), reader.problems.isEmpty else {
            throw ConfigurationProblems(texts: reader.problems)
        }
        return postgres
    }

    /// Reads the configuration of the operators' commands.
    static func readAdministration() throws -> AdministrationConfiguration {
        var reader = try environment()
        let postgres = reader.postgres()
        let masterKeys = reader.masterKeys()
        let providers = ProviderKinds.setups(from: &reader)
        let curl = reader.curl(providers)
        let mail = reader.mail(mode: reader.valid(ListeningVariables.mode))
        let sms = reader.sms()
        let publicURL = reader.value(ListeningVariables.publicURL)
        guard let postgres, let masterKeys, reader.problems.isEmpty else {
            throw ConfigurationProblems(texts: reader.problems)
        }
        return AdministrationConfiguration(
            postgres: postgres,
            masterKeys: masterKeys,
            curl: curl,
            providers: providers,
            mail: mail,
            sms: sms,
            publicURL: publicURL
        )
    }

    /// Reads the web origin at which browsers reach the console; nil if the console is on a Unix socket and no origin
    /// is set.
    static func readConsoleOrigin() throws -> String? {
        var reader = try environment()
        let origin = reader.consoleOrigin()
        guard reader.problems.isEmpty else { throw ConfigurationProblems(texts: reader.problems) }
        return origin
    }

    /// Reads the mail configuration for `federation mail test`; nil if mails are off.
    static func readMail() throws -> MailConfiguration? {
        var reader = try environment()
        let mail = reader.mail(mode: reader.valid(ListeningVariables.mode))
        guard reader.problems.isEmpty else { throw ConfigurationProblems(texts: reader.problems) }
        return mail
    }

    // MARK: Parts

    private mutating func postgres() -> PostgresConfiguration? {
        guard isSet(NeededVariables.databaseURL) else {
            problem(
                NeededVariables.databaseURL,
                "is not set; set it like postgres://user:password@host:5432/database"
            )
            return nil
        }
        guard var configuration = value(NeededVariables.databaseURL) else { return nil }
        if configuration.applicationName == PostgresConfiguration.standardName {
            configuration.applicationName = "federation"
        }
        configuration.pipelinedConnections = value(NumberVariables.pipelinedConnections)
        configuration.exclusiveConnections = value(NumberVariables.exclusiveConnections)
        configuration.maxQueued = value(NumberVariables.databaseQueue)
        configuration.leaseTimeout = value(TimeVariables.databaseLease)
        configuration.statementTimeout = value(TimeVariables.databaseStatement)
        configuration.lockTimeout = value(TimeVariables.databaseLock)
        configuration.idleInTransactionTimeout = value(TimeVariables.databaseIdleInTransaction)
        configuration.tcpUserTimeout = value(TimeVariables.databaseTCPUser)
        // Otherwise the URL's connect_timeout counts, or the driver's equal default.
        if isSet(TimeVariables.databaseConnect) { configuration.connectTimeout = value(TimeVariables.databaseConnect) }
        configuration.preparedStatements = value(PoolerVariables.preparedStatements)
        return configuration
    }

    /// Reads the master key that encrypts, and the former master key, which can still decrypt during a rotation.
    private mutating func masterKeys() -> MasterKeys? {
        if !isSet(NeededVariables.masterKey), !isSet(NeededVariables.masterKeyFile) {
            problem(
                NeededVariables.masterKey,
                "is not set, nor \(NeededVariables.masterKeyFile.name); create a key with: openssl rand -base64 32"
            )
        }
        let current = masterKey(NeededVariables.masterKey, orIn: NeededVariables.masterKeyFile)
        let previous = masterKey(NeededVariables.previousMasterKey, orIn: NeededVariables.previousMasterKeyFile)
        return current.map { MasterKeys(current: $0, previous: previous.map { [$0] } ?? []) }
    }

    /// Reads a master key; nil if none is configured.
    ///
    /// The variable `direct` contains the key itself, and the variable `file` contains the path of a file with the key.
    private mutating func masterKey(_ direct: Variable<MasterKey?>, orIn file: Variable<MasterKey?>) -> MasterKey? {
        guard !isSet(direct) || !isSet(file) else {
            problem(direct, "and \(file.name) are both set; set only one of them")
            return nil
        }
        return value(direct) ?? value(file)
    }

    /// Returns the web origin at which browsers reach the console.
    ///
    /// It is the configured origin of operators, or else the address of the management listener.
    private mutating func consoleOrigin() -> String? {
        if let origin = value(ListeningVariables.operatorOrigin) { return origin }
        guard case .network(let host, let port) = value(ListeningVariables.managementListen) else { return nil }
        let scheme = isSet(TLSVariables.managementCertificate) ? "https" : "http"
        let name = ["0.0.0.0", "::", "127.0.0.1", "::1"].contains(host) ? "localhost" : host
        return "\(scheme)://\(name.contains(":") ? "[\(name)]" : name):\(port)"
    }

    private mutating func curl(_ providers: [UpstreamSetup]) -> CurlConfiguration {
        CurlConfiguration(
            maxInFlight: value(NumberVariables.concurrentCalls),
            // HTTP/2 needs few connections, but in a burst libcurl would open one for nearly every call. A plain-text
            // stand-in on loopback needs a connection for each concurrent call.
            maxConnectionsPerHost: providers.allSatisfy(\.usesTLS) ? 64 : 4096,
            caFile: value(ProviderVariables.authorities),
            userAgent: "federation/" + FederationCommand.version
        )
    }

    private mutating func limits() -> Limits {
        let login = value(TimeVariables.login)
        return Limits(
            login: login,
            storeReserve: min(.seconds(1), login / 5)
        )
    }

    private mutating func admission(to postgres: PostgresConfiguration?) -> Admission.Settings {
        var settings = Admission.Settings()
        settings.logins = value(NumberVariables.concurrentLogins)
        if let postgres {
            let connections = postgres.pipelinedConnections
            // Two writes for each connection keep it busy.
            settings.writes = 2 * connections...postgres.pipelineDepth * connections
            settings.timeout = postgres.leaseTimeout
            settings.maxWaiting = postgres.maxQueued
        }
        return settings
    }

    private mutating func policies() -> LimitPolicies {
        var policies = LimitPolicies.standard
        for policy in LimitPolicy.all { policies[policy] = value(Variable(policy)) }
        return policies
    }

    /// Reads the number of trusted proxies in front of the service.
    ///
    /// In production, the variable must be set. With too low a number, all clients behind a proxy would count as one
    /// source.
    private mutating func trustedProxies(mode: ServerConfiguration.Mode?) -> Int {
        if mode == .production, !isSet(NeededVariables.trustedProxies) {
            problem(
                NeededVariables.trustedProxies,
                """
                is not set; set it to the number of proxies in front of the public listener that add to \
                X-Forwarded-For, or 0
                """
            )
        }
        return value(NeededVariables.trustedProxies)
    }

    /// The default number of password hashes that are computed at once: one for every two cores.
    ///
    /// The other cores serve requests that must not wait for hashes.
    private static var onePerTwoCores: Int { max(ProcessInfo.processInfo.activeProcessorCount / 2, 1) }

    /// Reads the settings of background work; nil when it is disabled.
    private mutating func maintenance(loginLogDays: Int) -> Maintenance.Settings? {
        let settings = Maintenance.Settings(
            interval: value(TimeVariables.maintenanceInterval),
            lease: value(TimeVariables.maintenanceLease),
            checksPerSecond: value(NumberVariables.maintenanceChecksPerSecond),
            loginLogDays: loginLogDays
        )
        return value(ListeningVariables.maintenanceEnabled) ? settings : nil
    }

    /// Reads the URL of the OTLP receiver to which traces are exported, and the percentage of traces that is exported.
    private mutating func traces() -> (url: HTTPURL, percent: Int)? {
        let percent = value(ListeningVariables.tracesPercent)
        return value(ListeningVariables.otlpEndpoint).map { ($0, percent) }
    }

    // MARK: Values

    mutating func value<Value>(_ variable: Variable<Value>) -> Value { valid(variable) ?? variable.standard }

    /// Returns the value of a configuration variable.
    ///
    /// If the variable is not set, the value is its default. If the text is invalid, the reader records a problem and
    /// the value is nil.
    mutating func valid<Value>(_ variable: Variable<Value>) -> Value? {
        guard let text = text(variable) else { return variable.standard }
        do { return try variable.parse(text) } catch {
            problem(variable, error.text)
            return nil
        }
    }

    func isSet(_ variable: any DeclaredVariable) -> Bool { text(variable) != nil }

    /// Returns the configured text of a variable; nil if it is not set or empty.
    ///
    /// The configuration library does not log the text of a secret.
    private func text(_ variable: any DeclaredVariable) -> String? {
        let text = config.string(forKey: ConfigKey("federation." + variable.key), isSecret: variable.isSecret)
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    mutating func problem(_ variable: any DeclaredVariable, _ text: String) {
        problems.append("\(variable.name) \(text)")
    }
}
