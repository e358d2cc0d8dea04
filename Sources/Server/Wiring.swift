import API
import Curl
import Federation
import Graph
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Observability
import Postgres
import ServiceLifecycle
import Store

/// The one place where the parts are put together.
enum Wiring {
    /// Everything of `federation serve`, ready to run.
    static func services(of configuration: ServerConfiguration, logger: Logger) throws -> [any Service] {
        let postgres = PostgresClient(configuration: configuration.postgres)
        let store = Store(postgres: postgres)
        let graph = GraphClient(
            curl: try CurlClient(configuration: configuration.curl),
            configuration: configuration.graph
        )
        let directory = ApplicationDirectory(store: store, masterKeys: configuration.masterKeys, logger: logger)
        var administrative = configuration.postgres
        administrative.limitToAdministration()
        let administrationPostgres = PostgresClient(configuration: administrative)
        let administration = Administration(
            store: Store(postgres: administrationPostgres),
            operators: store,
            graph: graph,
            masterKeys: configuration.masterKeys
        )
        let federation = Federation(
            store: store,
            graph: graph,
            directory: directory,
            masterKeys: configuration.masterKeys,
            publicURL: configuration.publicURL,
            limits: configuration.limits,
            logger: logger
        )
        var background: [any Service] = [DirectoryService(directory: directory)]
        if let settings = configuration.upkeep {
            // On the connections of the administration: what nobody waits for never keeps a login waiting.
            let upkeep = Upkeep(
                store: Store(postgres: administrationPostgres),
                graph: graph,
                directory: directory,
                masterKeys: configuration.masterKeys,
                settings: settings,
                logger: logger
            )
            background.append(UpkeepService(upkeep: upkeep))
        }
        // They shut down in the reverse order: listeners first, the database when nobody needs it any more.
        let databases = [DatabaseService(client: postgres), DatabaseService(client: administrationPostgres)]
        return databases + background + [
            listener(
                ManagementAPI.router(federation: federation, administration: administration),
                on: configuration.managementListen,
                configuration: configuration,
                logger: logger
            ),
            listener(
                PublicAPI.router(federation: federation, directory: directory),
                on: configuration.listen,
                configuration: configuration,
                logger: logger
            ),
        ]
    }

    private static func listener(
        _ router: Router<APIContext>,
        on address: ListenAddress,
        configuration: ServerConfiguration,
        logger: Logger
    ) -> some Service {
        let read = TimeAmount(configuration.httpRead)
        return Application(
            router: router,
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [ReadDeadline(limit: read)],
                    idleTimeout: TimeAmount(configuration.httpIdle),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16_384,
                        maxHeaderListSize: 32_768,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                serverName: nil,
                backlog: 4096,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.httpConnections)
            ),
            logger: logger
        )
    }
}

/// The life of the database connections.
private struct DatabaseService: Service {
    let client: PostgresClient

    func run() async throws {
        await withGracefulShutdownHandler {
            await client.run()
        } onGracefulShutdown: {
            client.shutdown()
        }
    }
}

/// The life of the copy of the configuration.
private struct DirectoryService: Service {
    let directory: ApplicationDirectory

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await directory.run() }
    }
}

/// The life of the work in the background.
private struct UpkeepService: Service {
    let upkeep: Upkeep

    func run() async throws {
        await cancelWhenGracefulShutdown { await upkeep.run() }
    }
}
