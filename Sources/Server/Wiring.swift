import Accounts
import Administration
import AdministrationAPI
import Applications
import Backendless
import Console
import Curl
import Domain
import Firebase
import FormerSystems
import HTTP
import Hummingbird
import HummingbirdCore
import Limiting
import Logging
import Logins
import Maintenance
import Messaging
import NIOCore
import NIOPosix
import Observability
import Passwords
import Postgres
import Providers
import PublicAPI
import Secrets
import ServiceLifecycle
import Store

/// Creates all parts of the program and connects them to each other.
enum Wiring {
    /// Creates all services of `federation serve`, ready to run.
    static func services(
        of configuration: ServerConfiguration,
        logger: Logger,
        telemetry: Telemetry
    ) throws -> [any Service] {
        var lookUps = configuration.postgres
        lookUps.planLookUps()
        let databases = Databases(lookUps, logger: logger)
        let store = Store(databases: databases)
        let curl = try CurlClient(configuration: configuration.curl)
        let kinds = ProviderKinds(configuration.providers, curl: curl, logger: logger)
        let directory = ApplicationDirectory(
            store: store,
            masterKeys: configuration.masterKeys,
            kinds: kinds,
            clock: .system,
            random: .system,
            logger: logger
        )
        let mailer = try configuration.mail.map { try $0.mailer() }
        let smsGateway = try configuration.sms.map { try $0.gateway() }
        if let smsGateway { logger.info("SMS", metadata: ["gateway": "\(smsGateway)"]) }
        var administrative = configuration.postgres
        administrative.limitToAdministration()
        let administrationDatabases = Databases(administrative)
        let administrationStore = Store(databases: administrationDatabases)
        let report = InstanceReport(metrics: telemetry.metrics, clock: .system)
        let rounds = configuration.maintenance.map { _ in MaintenanceRounds() }
        let passwords = PasswordHasher(
            slots: configuration.passwordHashes,
            queue: configuration.passwordQueue,
            random: .system
        )
        let administration = Administration(
            store: administrationStore,
            callers: store,
            kinds: kinds,
            masterKeys: configuration.masterKeys,
            passwords: passwords,
            mailer: mailer,
            smsGateway: smsGateway,
            publicAddress: PublicAddress(url: configuration.publicURL),
            operatorOrigin: PublicAddress(url: configuration.operatorOrigin),
            directory: directory,
            logLevel: telemetry.level,
            instance: report.json,
            rounds: rounds,
            clock: .system,
            random: .system
        )
        var searching = configuration.postgres
        searching.limitToSearches(configuration.limits.searches)
        let searchDatabases = Databases(searching)
        let logins = LoginCounter()
        // The recorder has the connections of the administration. So the log of logins keeps no login waiting.
        let recorder = configuration.loginRowsPerSecond.map { rows in
            LoginRecorder(store: administrationStore, rowsPerSecond: rows, clock: .system, logger: logger)
        }
        let useCases = UseCases(
            store: store,
            searches: Store(databases: searchDatabases),
            directory: directory,
            masterKeys: configuration.masterKeys,
            passwords: passwords,
            publicURL: configuration.publicURL,
            mailer: mailer,
            smsGateway: smsGateway,
            formerSystems: try FormerSystems(curl: configuration.curl, logger: logger),
            limits: configuration.limits,
            admission: Admission(configuration.admission),
            rateLimiter: RateLimiter(configuration.policies),
            clock: .system,
            random: .system,
            observer: { login in
                logins.count(login)
                recorder?.hear(login)
            },
            logger: logger
        )
        if !configuration.managementListen.isLoopback, configuration.managementCertificate == nil {
            useCases.warnings.raise(
                """
                Other machines can reach the management listener without TLS, so operators' tokens can be intercepted. \
                Set FEDERATION_MANAGEMENT_TLS_CERTIFICATE_FILE and its key, or set FEDERATION_MANAGEMENT_LISTEN to a \
                loopback address.
                """,
                stands: true
            )
        }
        if configuration.listen.isSocket, configuration.trustedProxies == 0, configuration.proxies == nil {
            useCases.warnings.raise(
                """
                The public listener is a Unix socket, so all clients count as one source, and wrong passwords of one \
                client lock out all. Set FEDERATION_TRUSTED_PROXIES to the number of proxies that add to \
                X-Forwarded-For, or set FEDERATION_PROXY_PROTOCOL_FROM.
                """,
                stands: true
            )
        }
        var background: [any Service] = [
            DirectoryService(directory: directory, database: databases.main, level: telemetry.level),
            AdmissionService(admission: useCases.admission),
            report, MemoryService(), FirstOperatorService(operators: administration.operators, logger: logger),
        ]
        let certificates = [("public", configuration.certificate), ("management", configuration.managementCertificate)]
            .compactMap { listener, certificate in certificate.map { (listener: listener, certificate: $0) } }
        if !certificates.isEmpty {
            background.append(
                CertificateService(certificates: certificates, warnings: useCases.warnings, logger: logger)
            )
        }
        if let settings = configuration.maintenance, let rounds {
            // Background work has the connections of the administration. So it keeps no login waiting.
            let maintenance = Maintenance(
                store: administrationStore,
                directory: directory,
                masterKeys: configuration.masterKeys,
                settings: settings,
                rounds: rounds,
                clock: .system,
                random: .system,
                logger: logger
            )
            background.append(MaintenanceService(maintenance: maintenance))
        }
        if let recorder { background.append(LoginRecorderService(recorder: recorder)) }
        if let traces = configuration.traces, let spans = telemetry.spans {
            let curl = CurlConfiguration(maxInFlight: 4, caFile: configuration.curl.caFile)
            let exporter = OTLPExporter(
                url: traces.url,
                queue: spans,
                client: try CurlClient(configuration: curl),
                resource: [("service.name", "federation"), ("service.version", FederationCommand.version)],
                logger: logger
            )
            background.append(TraceExportService(exporter: exporter))
        }
        if let mailer {
            let delivery = MailDelivery(
                store: administrationStore,
                directory: directory,
                masterKeys: configuration.masterKeys,
                mailer: mailer,
                settings: .init(lostAfter: configuration.mail?.lostAfter ?? .seconds(600)),
                clock: .system,
                logger: logger
            )
            background.append(MailDeliveryService(delivery: delivery))
        }
        let statistics = ServiceStatistics(
            telemetry: telemetry,
            pools: [
                ("logins", databases), ("administration", administrationDatabases), ("searches", searchDatabases),
            ],
            directory: directory,
            passwords: passwords,
            admission: useCases.admission,
            rateLimiter: useCases.rateLimiter
        )
        // Services shut down in reverse order: listeners first, the database last, when nothing uses it any more.
        let lives = [databases, administrationDatabases, searchDatabases].map(DatabaseService.init)
        let publicListener = PublicListener(
            of: ClientProtocols(
                Backendless(useCases: useCases, directory: directory),
                beside: [
                    Firebase(
                        useCases: useCases,
                        directory: directory,
                        importing: administration.userImport.ofBackends,
                        clock: .system
                    )
                ]
            ),
            useCases: useCases,
            directory: directory,
            trustedProxies: configuration.trustedProxies
        )
        return lives + background + [
            listener(
                ManagementAPI.router(
                    useCases: useCases,
                    administration: administration,
                    metrics: MetricsPage(
                        access: configuration.metricsAccess,
                        contentType: MetricRegistry.contentType,
                        text: statistics.page
                    ),
                    pages: { router, calls in
                        let (origin, url) = (configuration.consoleOrigin, configuration.publicURL)
                        Console(origin: origin, publicURL: url, kinds: kinds.all.map(ProviderCard.init), calls: calls)
                            .mount(on: router)
                    }
                ),
                on: configuration.managementListen,
                named: "FEDERATION_MANAGEMENT_LISTEN",
                certificate: configuration.managementCertificate,
                proxies: configuration.managementProxies,
                configuration: configuration,
                logger: logger
            ),
            listener(
                publicListener.router,
                on: configuration.listen,
                named: "FEDERATION_LISTEN",
                certificate: configuration.certificate,
                strictTransport: configuration.certificate.map { _ in configuration.strictTransport },
                proxies: configuration.proxies,
                areProxied: configuration.trustedProxies > 0,
                aliases: publicListener.aliases,
                configuration: configuration,
                logger: logger
            ),
        ]
    }

    private static func listener(
        _ router: Router<some HTTPContext>,
        on address: ListenAddress,
        named variable: String,
        certificate: ListenerCertificate?,
        strictTransport: Int? = nil,
        proxies: TrustedPeers?,
        areProxied: Bool = false,
        aliases: PathAliases = PathAliases(),
        configuration: ServerConfiguration,
        logger: Logger
    ) -> any Service {
        let socket: UnixSocket?
        let binding: BindAddress
        switch address {
        case .network(let host, let port): (socket, binding) = (nil, .hostname(host, port: port))
        case .socket(let path):
            socket = UnixSocket(path: path, access: configuration.socketAccess)
            binding = .unixDomainSocket(path: path)
        }
        let application = Application(
            router: router,
            server: .connections(
                ConnectionLimits(
                    read: TimeAmount(configuration.httpRead),
                    write: TimeAmount(configuration.httpWrite),
                    idle: configuration.httpIdle,
                    connections: configuration.httpConnections,
                    connectionsOfSource: configuration.sourceConnections,
                    waitingBytes: configuration.waitingBytes
                ),
                certificate: certificate,
                strictTransport: strictTransport,
                proxies: proxies,
                areProxied: areProxied,
                aliases: aliases
            ),
            configuration: ApplicationConfiguration(
                address: binding,
                serverName: nil,
                backlog: 4096,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.httpConnections)
            ),
            onServerRunning: { listener in
                // By default, the listener accepts four connections at a time. The next ones would wait until many
                // requests of others are handled.
                try? await listener.setOption(.maxMessagesPerRead, value: 64).get()
                do { try socket?.open() } catch { logger.error("socket", metadata: ["cause": "\(error)"]) }
            },
            logger: logger
        )
        let listener: any Service =
            if let socket { UnixSocketService(socket: socket, listener: application) } else { application }
        return ListenerService(variable: variable, address: address, listener: listener)
    }
}

/// Runs the connection pools of the databases.
private struct DatabaseService: Service {
    let databases: Databases

    func run() async throws {
        await withGracefulShutdownHandler {
            await databases.run()
        } onGracefulShutdown: {
            databases.shutdown()
        }
    }
}

/// Keeps the applications' configuration in memory up to date while the service runs.
///
/// If the database refuses the role, the password or the database's name at start, the whole process ends. Only an
/// operator can fix that, and a supervisor has to notice. If the database is unreachable, the service waits for it.
private struct DirectoryService: Service {
    let directory: ApplicationDirectory
    let database: PostgresClient
    let level: LogLevel

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await enter() }
                    group.addTask { try await directory.run() }
                    for try await _ in group {}
                }
            }
        } catch {
            // The other services end because of this error. This level keeps their log lines from following the error's
            // message.
            level.set(.critical, for: Self.farewell, now: WallClock.system.milliseconds)
            throw error
        }
    }

    /// Queries the database until it accepts a connection and responds.
    ///
    /// - Throws: `DatabaseRefusal` when the database refuses the connection for a reason that only an operator can
    ///   remove.
    private func enter() async throws(DatabaseRefusal) {
        while !Task.isCancelled {
            do throws(PostgresError) {
                _ = try await database.query("select 1")
                return
            } catch {
                if case .unavailable(let failure?) = error, failure.isOfServer {
                    throw DatabaseRefusal(description: "FEDERATION_DATABASE_URL: \(failure.text)")
                }
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// The milliseconds, from the moment when the database refuses the service, in which only critical log lines are
    /// written.
    ///
    /// The process ends sooner. So no log line of another part of the service follows the message about the refusal.
    private static let farewell: Int64 = 3_600_000
}

/// The error with the reason why the database refuses the service's connections, such as a wrong password.
struct DatabaseRefusal: Error, CustomStringConvertible {
    let description: String
}

/// Runs the part that measures the load of the machine and adapts the limit of concurrent logins to it.
private struct AdmissionService: Service {
    let admission: Admission

    func run() async throws {
        let executors = MultiThreadedEventLoopGroup.singleton.makeIterator().map(EventLoopExecutor.init)
        await cancelWhenGracefulShutdown { await admission.run(servedBy: executors) }
    }
}

/// Runs the background work, such as purging expired data.
private struct MaintenanceService: Service {
    let maintenance: Maintenance

    func run() async throws {
        await cancelWhenGracefulShutdown { await maintenance.run() }
    }
}

/// Runs the part that writes logins to the log of logins.
private struct LoginRecorderService: Service {
    let recorder: LoginRecorder

    func run() async throws {
        await cancelWhenGracefulShutdown { await recorder.run() }
    }
}

/// Runs the export of traces.
private struct TraceExportService: Service {
    let exporter: OTLPExporter

    func run() async throws {
        await cancelWhenGracefulShutdown { await exporter.run() }
    }
}

/// Runs the delivery of queued mails.
private struct MailDeliveryService: Service {
    let delivery: MailDelivery

    func run() async throws {
        await cancelWhenGracefulShutdown { await delivery.run() }
    }
}
