import Administration
import Logging
import ServiceLifecycle

/// At start, logs how to create the first operator, if there is no operator yet.
///
/// The log does not contain the link that creates the operator, since a log is stored and has many readers. It names
/// the command that prints the link at the terminal.
struct FirstOperatorService: Service {
    let operators: OperatorAdministration
    let logger: Logger

    /// The time between two attempts while the database does not respond.
    private static let pause = Duration.seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if let areMissing = try? await operators.areMissing() {
                    if areMissing {
                        logger.notice(
                            "there is no operator",
                            metadata: ["next": "a link that makes the first one is printed by: federation console"]
                        )
                    }
                    break
                }
                try? await Task.sleep(for: Self.pause)
            }
            // The service must not end by itself, since the process ends with the first of its services.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        }
    }
}
