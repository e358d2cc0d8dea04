import ArgumentParser
import FoundationEssentials
import GraphSimulator
import Logging
import ServiceLifecycle
import UnixSignals

import Glibc

/// The `graph-simulator` command: parses options, opens two ports, and ends on SIGTERM or SIGINT.
///
/// Exit codes are those of sysexits.h: 64 for a wrong option, 65 for an unusable data file, 66 for an unreadable data
/// file, 69 for a port that cannot be opened.
@main
struct GraphSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph-simulator",
        abstract: "Stands in for Facebook over HTTP, with people, tokens and faults of your making.",
        discussion: """
            The public port answers as Facebook's hosts do; point your app's Graph URL at it. The control port \
            takes JSON and changes what the public port answers from the next request on.

              Start, with two apps, five people and a token of every kind:
                graph-simulator --data docker/simulator.json

              Ask as an app would:
                curl -G 127.0.0.1:9090/v25.0/me -d fields=id,name,email -d access_token=$TOKEN
                curl -G 127.0.0.1:9090/v25.0/debug_token -d input_token=$TOKEN --data-urlencode 'access_token=ID|SECRET'

              Make a token; its kinds are \(GraphSimulator.TokenKind.allCases.map(\.rawValue).joined(separator: ", ")):
                curl 127.0.0.1:9091/tokens -d '{"kind": "long", "person": "ann", "scopes": ["email"]}'

              Log in, by hand in a browser or at once by a code:
                http://127.0.0.1:9090/dialog/oauth?client_id=ID&redirect_uri=URL
                curl 127.0.0.1:9091/codes -d '{"person": "ann", "redirectUri": "URL"}'

              Make an ID token, right or wrong, and change the keys:
                curl 127.0.0.1:9091/id-tokens -d '{"person": "ann", "nonce": "n"}'
                curl 127.0.0.1:9091/id-tokens -d '{"person": "ann", "claims": {"aud": "42"}, "signWith": "unknown"}'
                curl -X POST 127.0.0.1:9091/keys/rotate

              Call the app as Facebook does:
                curl 127.0.0.1:9091/deliver -d '{"kind": "deletion", "url": "URL"}'

              Change a person, take back a permission:
                curl -X PATCH 127.0.0.1:9091/people/ann -d '{"email": "new@example.com"}'
                curl -X PATCH 127.0.0.1:9091/people/ann -d '{"permissions": {"email": "declined"}}'

              Make a token of Twitter's, and answer as api.twitter.com does:
                curl 127.0.0.1:9091/twitter/tokens -d '{"person": "ann"}'

              Stand in for an issuer of OpenID Connect, or for GitHub, Discord or LinkedIn:
                curl -X PUT 127.0.0.1:9091/openid/issuers/staff -d '{"clients": {"web": "secret"}}'
                curl -X PUT 127.0.0.1:9091/oauth2/providers/github -d '{"style": "github", "clients": {"web": "secret"}}'

              Let things go wrong, for some requests or for all:
                curl 127.0.0.1:9091/faults -d '{"effect": "delay", "milliseconds": 1500}'
                curl 127.0.0.1:9091/faults -d '{"effect": "error", "code": 2, "path": "me", "percent": 10, "seed": 7}'
                curl 127.0.0.1:9091/faults -d '{"effect": "reset", "at": "body", "path": "debug_token", "count": 3}'
                curl -X DELETE 127.0.0.1:9091/faults

              See what came in, and begin again:
                curl 127.0.0.1:9091/requests
                curl -X POST 127.0.0.1:9091/reset

            docs/simulator.md tells the rest.
            """
    )

    @Option(
        help: ArgumentHelp("The public port. Port 0 lets the system choose.", valueName: "host:port"),
        transform: address
    )
    var listen = GraphSimulator.Address(host: "127.0.0.1", port: 9090)

    @Option(help: ArgumentHelp("The control port.", valueName: "host:port"), transform: address)
    var control = GraphSimulator.Address(host: "127.0.0.1", port: 9091)

    @Option(
        help: ArgumentHelp("The JSON file with apps, people and tokens; without it there are none.", valueName: "file")
    )
    var data: String?

    @Option(help: "How many of the latest requests to remember.")
    var requestLog = 10_000

    @Option(help: "Event loops for the public port.")
    var threads = 1

    private static func address(_ text: String) throws -> GraphSimulator.Address {
        guard let address = GraphSimulator.Address(text) else {
            throw ValidationError("\"\(text)\" is no host:port, such as 127.0.0.1:9090 or [::1]:9090")
        }
        return address
    }

    func validate() throws {
        guard (0...10_000_000).contains(requestLog) else {
            throw ValidationError("--request-log must be from 0 to 10000000")
        }
        guard (1...64).contains(threads) else { throw ValidationError("--threads must be from 1 to 64") }
    }

    func run() async throws {
        raiseFileLimit()
        let simulator = try await start(try dataset())
        print(
            #"{"listen":"\#(simulator.address)","control":"\#(simulator.controlAddress?.description ?? "")"}"#
        )
        fflush(nil)
        var configuration = ServiceGroupConfiguration(
            services: [SimulatorService(simulator: simulator)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "graph-simulator", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        configuration.maximumGracefulShutdownDuration = .seconds(5)
        try await ServiceGroup(configuration: configuration).run()
    }

    /// Raises the limit of open files.
    ///
    /// Each connection needs an open file, and shells commonly allow only 1024.
    private func raiseFileLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // Fails where the hard limit is unlimited; the soft limit then stays, which is no reason to stop.
        _ = setrlimit(resource, &limit)
    }

    private func dataset() throws -> GraphSimulator.Dataset {
        guard let data else { return GraphSimulator.Dataset() }
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: data))
        } catch {
            throw failure(66, "\(data): cannot be read")
        }
        do {
            return try GraphSimulator.Dataset(json: bytes)
        } catch {
            throw failure(65, "\(data): \(error)")
        }
    }

    private func start(_ dataset: GraphSimulator.Dataset) async throws -> GraphSimulator {
        do {
            return try await GraphSimulator.start(
                dataset,
                address: listen,
                controlAddress: control,
                threads: threads,
                requestLog: requestLog
            )
        } catch let error as GraphSimulator.DataError {
            throw failure(65, "\(data ?? "data"): \(error)")
        } catch {
            throw failure(69, "cannot listen on \(listen) and \(control): \(error)")
        }
    }
}

/// Keeps the simulator running until the service group shuts down.
private struct SimulatorService: Service {
    let simulator: GraphSimulator

    func run() async throws {
        try await gracefulShutdown()
        await simulator.stop()
    }
}
