@testable import Applications
import Domain
import Encodings
import Facebook
import Logging
import Logins
import NIOConcurrencyHelpers
@testable import Secrets
import Testing
import Twitter

@Suite("What is told of logins and of changes of users")
struct LoginLogTests {
    private static func loaded() throws -> LoadedApplication {
        LoadedApplication(
            try Sample(apps: ["1"], consumers: ["a"]).stored(),
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
        let events = EventLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey)))
        let logins = LoginLog(events: events) { _ in }
        let loaded = try Self.loaded()
        func fail() throws(Failure) -> Never { throw Failure(reason, "It failed.") }
        let login = try await failure {
            try await logins.telling(of: .login("ann"), by: .password, in: loaded, logger) {
                () throws(Failure) in try fail()
            }
        }
        let link = try await failure {
            try await events.logging(
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

    @Test("what failed has the pseudonym of its login, but not what was turned away since too much was under way")
    func pseudonym() async throws {
        let log = Log()
        let logger = Logger(label: "test") { _ in log }
        let logins = LoginLog(events: EventLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey)))) { _ in }
        let loaded = try Self.loaded()
        for reason in [Failure.Reason.loginInvalid, .overloaded] {
            _ = try await failure {
                try await logins.telling(of: .login("ann"), by: .password, in: loaded, logger) {
                    () throws(Failure) in throw Failure(reason, "It failed.")
                }
            }
        }
        #expect(log.lines.map { $0.contains("login=") } == [true, false], "\(log.lines)")
    }

    @Test("who counts logins hears of providers that there are, and of no name that a caller made up")
    func counted() async throws {
        let heard = NIOLockedValueBox<[LoginOutcome.Method]>([])
        let log = LoginLog(events: EventLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey)))) { outcome in
            heard.withLockedValue { $0.append(outcome.method) }
        }
        let (loaded, logger) = (try Self.loaded(), Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for (name, subject) in [
            ("facebook", .code(nil)), ("twitter", .code(nil)), ("password", .login("ann")), ("password", .code(nil)),
            ("made-up", .code(nil)),
        ] as [(String, LoginLog.Subject)] {
            log.tell(
                .failure(.noSuchProvider),
                of: subject,
                by: try #require(ProviderName(name)),
                in: loaded,
                since: .now,
                logger
            )
        }
        #expect(
            heard.withLockedValue { $0 } == [
                .provider(.facebook), .provider(.twitter), .password, .unknownProvider, .unknownProvider,
            ]
        )
    }

    @Test("who hears of a login hears of its request and where it came from, as the lines of the log have them")
    func request() throws {
        let heard = NIOLockedValueBox<[String?]>([])
        let log = LoginLog(events: EventLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey)))) { outcome in
            heard.withLockedValue { $0 += [outcome.request, outcome.source] }
        }
        var logger = Logger(label: "test") { _ in Log() }
        let loaded = try Self.loaded()
        for source in ["10.0.0.1", nil] {
            logger[metadataKey: "source"] = source.map { "\($0)" }
            logger[metadataKey: "hb.request.id"] = source.map { "r of \($0)" }
            log.tell(.failure(.noSuchProvider), of: .code(nil), by: .facebook, in: loaded, since: .now, logger)
        }
        #expect(heard.withLockedValue { $0 } == ["r of 10.0.0.1", "10.0.0.1", nil, nil])
    }

    @Test("of the details of a failure the log has those that the provider names, and those of no other")
    func details() throws {
        let log = Log()
        let logins = LoginLog(events: EventLog(pseudonyms: Pseudonyms(try #require(Sample.masterKey)))) { _ in }
        let failure = Failure(
            .credentialInvalid,
            "It does not count.",
            details: [
                "graphCode": .integer(190), "graphType": .string("OAuthException"), "fbtraceId": .string("A1"),
                "twitterCode": .integer(89),
            ]
        )
        for provider in [ProviderName.facebook, .twitter, .password] {
            logins.tell(
                .failure(failure),
                of: .code(nil),
                by: provider,
                in: try Self.loaded(),
                since: .now,
                Logger(label: "test") { _ in log }
            )
        }
        let details = log.lines.map { line in
            line.split(separator: " ").filter { $0.contains(/^(graph|fb|twitter)\w+=/) }.joined(separator: " ")
        }
        #expect(details == ["graphCode=190 graphType=\"OAuthException\"", "twitterCode=89", ""])
    }
}
