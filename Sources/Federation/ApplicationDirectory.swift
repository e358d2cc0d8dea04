package import Identity
package import Logging
import NIOConcurrencyHelpers
package import Store

/// Every application's configuration, in memory, as of the last look at the database.
///
/// `run` looks every two seconds whether the configuration's revision has moved and loads all of it anew when it has. While
/// the database is away the last copy stays in use: a login then fails where it needs the database, with a clear reason.
package final class ApplicationDirectory: Sendable {
    private struct Copy {
        let revision: Int64
        let applications: [ApplicationID: LoadedApplication]
    }

    private let store: Store
    private let masterKey: MasterKey
    private let logger: Logger
    private let copy = NIOLockedValueBox<Copy?>(nil)

    /// Within this an instance sees a change; design.md §9 promises 5 s.
    private static let interval = Duration.seconds(2)

    package init(store: Store, masterKey: MasterKey, logger: Logger) {
        self.store = store
        self.masterKey = masterKey
        self.logger = logger
    }

    /// The application that the first two segments of a public path name.
    ///
    /// - Throws: `unknown_application`, with the same text for an unknown id and a wrong key.
    package func application(id: Substring, key: Substring) throws(Failure) -> LoadedApplication {
        guard let copy = copy.withLockedValue({ $0 }) else {
            throw Failure(
                .storeUnavailable,
                "The service has not read its configuration yet. Try again shortly.",
                retryAfter: 2
            )
        }
        guard let id = ApplicationID(id), let found = copy.applications[id], found.accepts(key: key) else {
            throw Failure(
                .unknownApplication,
                "There is no application with this id and API key. Check both in the base URL of your client."
            )
        }
        return found
    }

    /// The browser origins that may call an application; nil when there is no such application.
    package func allowedOrigins(of id: Substring) -> [String]? {
        guard let id = ApplicationID(id) else { return nil }
        return copy.withLockedValue { $0?.applications[id]?.application.settings.allowedOrigins }
    }

    /// Whether a copy of the configuration is in memory.
    package var isLoaded: Bool { copy.withLockedValue { $0 != nil } }

    /// Keeps the copy true until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Looks once.
    package func refresh() async {
        do {
            let revision = try await store.configurationRevision()
            guard revision != copy.withLockedValue({ $0?.revision }) else { return }
            let stored = try await store.applications()
            let loaded = stored.map { LoadedApplication($0, masterKey: masterKey) }
            for application in loaded {
                guard let defect = application.defect else { continue }
                logger.error(
                    "application cannot be used",
                    metadata: ["application": "\(application.application.id)", "cause": "\(defect)"]
                )
            }
            let applications = Dictionary(
                loaded.map { ($0.application.id, $0) },
                uniquingKeysWith: { first, _ in first }
            )
            copy.withLockedValue { $0 = Copy(revision: revision, applications: applications) }
            logger.info(
                "configuration loaded",
                metadata: ["revision": "\(revision)", "applications": "\(loaded.count)"]
            )
        } catch {
            logger.warning(
                "configuration could not be read",
                metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? "")"]
            )
        }
    }
}
