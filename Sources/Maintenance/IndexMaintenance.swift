import Applications
import Domain
import Logging
import Store

/// The background work that builds and drops PostgreSQL indexes, so that users' properties have an index as operators
/// declare.
///
/// It runs soon after an operator has changed a declaration. It also runs periodically, since the cause of an earlier
/// failure may be gone.
struct IndexMaintenance: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let interval: Duration
    let logger: Logger

    private static let pause = Duration.seconds(600)

    /// Runs until the task is cancelled.
    func run() async {
        /// For each application, when its indexes were last checked, and at which revision of its configuration.
        var looks: [ApplicationID: (revision: Int64, moment: ContinuousClock.Instant)] = [:]
        var forgotten: ContinuousClock.Instant?
        while !Task.isCancelled {
            for loaded in directory.applications.shuffled() where !Task.isCancelled {
                let application = loaded.application
                if let look = looks[application.id], look.revision == application.revision,
                    .now - look.moment < Self.pause
                {
                    continue
                }
                // If another instance builds an index, or the database is unavailable, the next round tries again.
                guard await reconcile(application) else { continue }
                looks[application.id] = (application.revision, .now)
            }
            if forgotten.map({ .now - $0 > Self.pause }) ?? true {
                forgotten = .now
                do throws(Failure) { try await store.forgetIndexAdvice() } catch { warn(error) }
            }
            try? await Task.sleep(for: interval * Double.random(in: 0.9...1.1))
        }
    }

    /// Builds and drops indexes of an application's properties until each property has an index as declared.
    ///
    /// - Returns: Whether the application needs no retry in the next round.
    private func reconcile(_ application: Application) async -> Bool {
        do throws(Failure) {
            switch try await store.reconcileIndexes(of: application.place) {
            case .elsewhere: return false
            case .done(0, 0): break
            case .done(let built, let dropped):
                logger.info(
                    "indexes",
                    metadata: ["application": "\(application.id)", "built": "\(built)", "dropped": "\(dropped)"]
                )
            case .blocked(let cause):
                logger.warning(
                    "an index could not be built",
                    metadata: ["application": "\(application.id)", "cause": "\(cause)"]
                )
            }
        } catch {
            warn(error)
            return false
        }
        return true
    }

    private func warn(_ failure: Failure) {
        logger.warning("indexes", metadata: ["cause": "\(failure.cause ?? failure.message)"])
    }
}
