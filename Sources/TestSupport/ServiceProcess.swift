/// A running instance of the service: `federation serve` as a child process of the tests.
package struct ServiceProcess: Sendable {
    /// The process, for signals, output and usage.
    package let process: ManagedProcess
    /// An HTTP client that sends requests to the instance's public listener.
    package let client: HTTPClient
    /// An HTTP client that sends requests to the instance's management listener.
    package let management: HTTPClient

    /// Starts an instance and waits until it is ready.
    ///
    /// - Parameters:
    ///   - program: The path of a `federation` program other than that of the tests' build.
    ///   - environment: The configuration, such as `FEDERATION_DATABASE_URL`, `FEDERATION_MASTER_KEY` and
    ///     `FEDERATION_GRAPH_URL`. This method adds the listeners, on free ports. It adds `FEDERATION_PUBLIC_URL`
    ///     unless the caller gives it.
    ///   - readyPath: The path on the management listener that must return 200.
    ///   - limit: The deadline for readiness.
    /// - Returns: The ready instance.
    /// - Throws: ``ProcessEnded`` with the output of an instance that ended, ``DeadlinePassed``, ``MissingProduct``.
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

/// A running `graph-simulator`, the stand-in for Facebook, Twitter and an SMS gateway, as a child process of the tests.
package struct SimulatorProcess: Sendable {
    /// The process, for signals, output and usage.
    package let process: ManagedProcess
    /// An HTTP client of the public port, on which the simulator responds as Facebook does.
    package let graph: HTTPClient
    /// An HTTP client of the control port, by which tests change the simulator.
    package let control: HTTPClient

    /// The base URL of the simulated Facebook, for the variable `FEDERATION_GRAPH_URL` of the service.
    package var url: String { "http://127.0.0.1:\(graph.port)" }

    /// The variables that make the service use the simulator for all of Facebook, for Twitter and for SMS.
    package var environment: [String: String] {
        [
            "FEDERATION_GRAPH_URL": url,
            "FEDERATION_FACEBOOK_JWKS_URL": url + "/.well-known/oauth/openid/jwks/",
            "FEDERATION_FACEBOOK_DIALOG_URL": url,
            "FEDERATION_FACEBOOK_LIMITED_URL": url, "FEDERATION_TWITTER_URL": url,
            // This is the secret in docker/simulator.json.
            "FEDERATION_SMS_URL": url + "/sms",
            "FEDERATION_SMS_SECRET": "whsec_c2ltdWxhdG9yLXNtcy1nYXRld2F5LXNlY3JldC0wMDE=",
        ]
    }

    /// Starts a simulator and waits until both listeners accept connections.
    ///
    /// - Parameters:
    ///   - data: The path of the data file with users and apps.
    ///   - limit: The deadline for readiness.
    /// - Returns: The simulator.
    /// - Throws: ``ProcessEnded`` with the output of a simulator that ended, ``DeadlinePassed``, ``MissingProduct``.
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
            // The simulator prints its addresses as soon as it listens. A test request would change its counters.
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

/// Runs a command of the `federation` program, such as `["migrate"]`, and waits for its end.
///
/// - Parameters:
///   - arguments: The command.
///   - program: The path of a `federation` program other than that of the tests' build.
///   - environment: The configuration.
///   - limit: The deadline for the end of the command.
/// - Returns: The ended process with its output and status.
/// - Throws: ``MissingProduct``; ``DeadlinePassed`` after the process was killed.
package func runFederation(
    _ arguments: [String],
    program: String? = nil,
    environment: [String: String],
    within limit: Duration = .seconds(60)
) async throws -> ManagedProcess {
    let program = try program ?? PackageLayout.executable("federation")
    return try await run(program, arguments, environment: environment, within: limit)
}
