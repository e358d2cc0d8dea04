import Applications
import ArgumentParser
import Curl
import Logging
import Observability
import ServiceLifecycle
import Store
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the service until SIGTERM.",
        discussion: """
            Serves the public API on FEDERATION_LISTEN (127.0.0.1:8080), and health checks and the administration on \
            FEDERATION_MANAGEMENT_LISTEN (127.0.0.1:8081). Logs to standard output, one JSON object per line.

            With FEDERATION_TLS_CERTIFICATE_FILE and FEDERATION_TLS_KEY_FILE the public listener uses TLS. The files \
            are read again when they change, and on SIGHUP.

            On SIGTERM or SIGINT it stops listening, finishes running requests within FEDERATION_DRAIN_MILLISECONDS, \
            and exits with 0. It starts and keeps running without a database: GET /health/ready reports when it can \
            serve, and what to change. If the database refuses the role, the password or the database name at the \
            start, it exits with 78.

            Example:
              FEDERATION_DATABASE_URL=postgres://federation@127.0.0.1/federation \\
              FEDERATION_MASTER_KEY_FILE=/etc/federation/master.key \\
              FEDERATION_TRUSTED_PROXIES=1 federation serve
            """
    )

    func run() async throws {
        var configuration: ServerConfiguration
        do { configuration = try ConfigurationReader.read() } catch let problems as ConfigurationProblems {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        var limit = FileLimit.raised()
        limit.ownDatabases = Databases.numberOfOwn
        guard limit.files >= FileLimit.least else {
            throw Exit.saying(
                """
                federation: the limit of open files is \(limit.files), and the service needs at least \
                \(FileLimit.least): raise it (ulimit -n, or LimitNOFILE of the unit)
                """,
                Exit.configuration
            )
        }
        let hasTooFewFiles = configuration.fit(limit)
        do throws(ListenerProblem) {
            try ListenerCheck.run(
                [
                    ("FEDERATION_MANAGEMENT_LISTEN", configuration.managementListen),
                    ("FEDERATION_LISTEN", configuration.listen),
                ],
                access: configuration.socketAccess
            )
        } catch { throw Exit.saying("federation: \(error)", Exit.configuration) }
        let telemetry = Telemetry(configuration)
        telemetry.start()
        let output = telemetry.output
        let logger = Logger(label: "federation")
        let services: [any Service]
        do { services = try Wiring.services(of: configuration, logger: logger, telemetry: telemetry) } catch {
            output.flush()
            throw Exit.saying("federation: \(error)", Exit.configuration)
        }
        var groupConfiguration = ServiceGroupConfiguration(
            services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(
                label: "lifecycle",
                factory: { _ in JSONLogHandler(level: LogLevel(.warning), output: output) }
            )
        )
        groupConfiguration.maximumGracefulShutdownDuration = configuration.drain
        let group = ServiceGroup(configuration: groupConfiguration)
        logger.info("starting", metadata: ["version": "\(FederationCommand.version)", "mode": "\(configuration.mode)"])
        if hasTooFewFiles {
            logger.warning(
                "the limit of open files bounds the connections",
                metadata: [
                    "files": "\(limit.files)", "connections": "\(configuration.httpConnections)",
                    "connections to providers": "\(configuration.curl.maxConnections)",
                ]
            )
        }
        MailConfiguration.announce(configuration.mail, to: logger)
        do {
            try await group.run()
        } catch let error as any Error & CustomStringConvertible
            where error is UnusableMasterKey || error is UnixSocket.Problem || error is ListenerProblem
            || error is DatabaseRefusal
        {
            logger.critical("stopped", metadata: ["cause": "\(error)"])
            output.flush()
            throw Exit.saying("federation: \(error)", Exit.configuration)
        } catch {
            logger.critical("stopped", metadata: ["cause": "\(error)"])
            throw Exit.software
        }
        logger.info("stopped")
        telemetry.notices.report()
        output.flush()
    }
}
