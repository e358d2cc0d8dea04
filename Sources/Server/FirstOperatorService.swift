import Administration
import Logging
import ServiceLifecycle

/// Says in the log how the first operator is made, where there is none.
///
/// The link is not in the log: logs are read by more people, and kept for longer, than the terminal of whoever holds
/// the database's password.
struct FirstOperatorService: Service {
    let operators: OperatorAdministration
    let logger: Logger

    /// Between two questions while the database does not answer.
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
            // The process ends with the first of its services that does.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        }
    }
}
