import Logging
import Logins
import NIOConcurrencyHelpers
import Testing
import Vocabulary

@testable import Applications
@testable import Secrets

@Suite("What is told of logins and of changes of users")
struct LoginLogTests {
    private static func loaded() throws -> LoadedApplication {
        LoadedApplication(
            try Sample(apps: ["1"]).stored(),
            masterKeys: try Sample.masterKeys(),
            kinds: try .outOfReach()
        )
    }

    @Test(
        "what failed by the service's own fault is an error in the log, and a refusal is not",
        arguments: [
            (Failure.Reason.internal, "error"), (.storedValueUnreadable, "error"), (.loginInvalid, "notice"),
            (.storeUnavailable, "notice"),
        ]
    )
    func levels(_ reason: Failure.Reason, _ level: String) async throws {
        let log = Log()
        let logger = Logger(label: "test") { _ in log }
        let pseudonyms = Pseudonyms(try #require(Sample.masterKey))
        let loaded = try Self.loaded()
        func fail() throws(Failure) -> Never { throw Failure(reason, "It failed.") }
        let login = try await failure {
            try await LoginLog(pseudonyms: pseudonyms).telling(of: .login("ann"), by: .password, in: loaded, logger) {
                () throws(Failure) in try fail()
            }
        }
        let link = try await failure {
            try await EventLog(pseudonyms: pseudonyms).logging(
                "link",
                of: loaded,
                logger,
                user: { (user: User) in user.objectID }
            ) { () throws(Failure) in try fail() }
        }
        #expect(login?.isLogged == true && link?.isLogged == true)
        #expect(log.lines.count == 2)
        #expect(log.lines.first?.hasPrefix("\(level) login ") == true, "\(log.lines)")
        #expect(log.lines.last?.hasPrefix("\(level) link ") == true, "\(log.lines)")
    }

    @Test("who counts logins hears of providers that there are, and of no name that a caller made up")
    func counted() async throws {
        let heard = NIOLockedValueBox<[String?]>([])
        let log = LoginLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey))) { outcome in
            heard.withLockedValue { $0.append(outcome.provider?.text) }
        }
        let (loaded, logger) = (try Self.loaded(), Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for name in ["facebook", "twitter", "password", "made-up"] {
            log.tell(
                .failure(.noSuchProvider),
                of: .code(nil),
                by: try #require(ProviderName(name)),
                in: loaded,
                since: .now,
                logger
            )
        }
        let counted = heard.withLockedValue { $0 }
        #expect(counted == ["facebook", "twitter", "password", nil])
    }
}
