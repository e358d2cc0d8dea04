/// A running `federation serve`, as built together with the tests.
package struct ServiceProcess: Sendable {
    /// The process itself: signals, output, usage.
    package let process: ManagedProcess
    /// Client of the public listener.
    package let client: HTTPClient
    /// Client of the management listener.
    package let management: HTTPClient

    /// Starts an instance and waits until it reports to be ready.
    ///
    /// - Parameters:
    ///   - program: Path of another `federation` than the one that was built together with the tests.
    ///   - environment: Configuration, such as `FEDERATION_DATABASE_URL`, `FEDERATION_MASTER_KEY` and
    ///     `FEDERATION_GRAPH_URL`. The listeners are set here, on free ports, and `FEDERATION_PUBLIC_URL` unless it is
    ///     given.
    ///   - readyPath: Path on the management listener that must answer 200.
    ///   - limit: The deadline for that.
    /// - Returns: The ready instance.
    /// - Throws: ``ProcessEnded`` with what it printed when it ends instead, ``DeadlinePassed``, ``MissingProduct``.
    package static func start(
        program: String? = nil,
        environment: [String: String],
        readyPath: String = "/health/ready",
        within limit: Duration = .seconds(30)
    ) async throws -> ServiceProcess {
        let (port, managementPort) = (try freePort(), try freePort())
        let listeners = [
            "FEDERATION_LISTEN": "127.0.0.1:\(port)",
            "FEDERATION_MANAGEMENT_LISTEN": "127.0.0.1:\(managementPort)",
        ]
        let defaults = ["FEDERATION_PUBLIC_URL": "http://127.0.0.1:\(port)"]
        let process = try await ManagedProcess.start(
            try program ?? PackageLayout.executable("federation"),
            ["serve"],
            environment: defaults.merging(environment) { _, given in given }.merging(listeners) { _, chosen in chosen }
        )
        let service = ServiceProcess(
            process: process,
            client: HTTPClient(port: port),
            management: HTTPClient(port: managementPort)
        )
        try await process.waitUntilReady(orKillWithin: limit) {
            try await service.management.get(readyPath).status == 200
        }
        return service
    }
}

/// A running `graph-simulator`, as built together with the tests.
package struct SimulatorProcess: Sendable {
    /// The process itself.
    package let process: ManagedProcess
    /// Client of the Graph listener.
    package let graph: HTTPClient
    /// Client of the control listener.
    package let control: HTTPClient

    /// Base URL for `FEDERATION_GRAPH_URL`.
    package var url: String { "http://127.0.0.1:\(graph.port)" }

    /// What makes the service take the simulator for all of Facebook, for Twitter and for the gateway for SMS.
    package var environment: [String: String] {
        [
            "FEDERATION_GRAPH_URL": url,
            "FEDERATION_FACEBOOK_JWKS_URL": url + "/.well-known/oauth/openid/jwks/",
            "FEDERATION_FACEBOOK_DIALOG_URL": url,
            "FEDERATION_FACEBOOK_LIMITED_URL": url, "FEDERATION_TWITTER_URL": url,
            // The secret is that of docker/simulator.json.
            "FEDERATION_SMS_URL": url + "/sms",
            "FEDERATION_SMS_SECRET": "whsec_c2ltdWxhdG9yLXNtcy1nYXRld2F5LXNlY3JldC0wMDE=",
        ]
    }

    /// Starts a simulator and waits until both listeners accept connections.
    ///
    /// - Parameters:
    ///   - data: Path of its people and apps.
    ///   - limit: The deadline for that.
    /// - Returns: The simulator.
    /// - Throws: ``ProcessEnded`` with what it printed when it ends instead, ``DeadlinePassed``, ``MissingProduct``.
    package static func start(
        data: String = PackageLayout.path("docker/simulator.json"),
        within limit: Duration = .seconds(30)
    ) async throws -> SimulatorProcess {
        let (port, controlPort) = (try freePort(), try freePort())
        let process = try await ManagedProcess.start(
            try PackageLayout.executable("graph-simulator"),
            ["--listen", "127.0.0.1:\(port)", "--control", "127.0.0.1:\(controlPort)", "--data", data]
        )
        let simulator = SimulatorProcess(
            process: process,
            graph: HTTPClient(port: port),
            control: HTTPClient(port: controlPort)
        )
        try await process.waitUntilReady(orKillWithin: limit) {
            // It prints its addresses once it listens; a request would show in its counters.
            process.standardOutput.contains("\n")
        }
        return simulator
    }
}

extension ManagedProcess {
    fileprivate func waitUntilReady(
        orKillWithin limit: Duration,
        _ condition: () async throws -> Bool
    ) async throws {
        do {
            try await waitUntilReady(within: limit, condition)
        } catch {
            try await kill()
            throw error
        }
    }
}

/// Runs a command of the `federation` program to its end, such as `["migrate"]`.
///
/// - Parameters:
///   - arguments: The command.
///   - program: Path of another `federation` than the one that was built together with the tests.
///   - environment: Its configuration.
///   - limit: The deadline for its end.
/// - Returns: The ended process with its output and status.
/// - Throws: ``MissingProduct``; ``DeadlinePassed`` after killing it.
package func runFederation(
    _ arguments: [String],
    program: String? = nil,
    environment: [String: String],
    within limit: Duration = .seconds(60)
) async throws -> ManagedProcess {
    let program = try program ?? PackageLayout.executable("federation")
    return try await run(program, arguments, environment: environment, within: limit)
}
