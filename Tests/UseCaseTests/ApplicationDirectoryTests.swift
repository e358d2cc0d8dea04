@testable import Accounts
@testable import Administration
@testable import Applications
import Domain
import Logging
import Providers
@testable import Secrets
import Testing
import TestSupport

@Suite("The copy of every application's configuration")
struct ApplicationDirectoryTests {
    @Test("a revision lower than the copy's is another database: everything is read anew")
    func lowerRevision() async throws {
        try await Office.lend { office in
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let key = "canary-key-0123456789"
            let label = try json(#"{"label":"ios","key":"\#(key)"}"#)
            _ = try await office.administration.keys.create(of: "demo", label, by: Office.actor)
            try await directory.refresh()
            func name() throws -> String {
                let found = try directory.application(id: "demo", key: key[...])
                return found.application.application.name
            }
            #expect(try name() == "demo")

            // A backup from before some changes is restored: the cache has already seen revisions as high as its own.
            try await office.database.psql(
                """
                update federation.applications set name = 'restored', revision = 1;
                update federation.configuration set revision = 2
                """
            )
            try await directory.refresh()
            #expect(try name() == "restored")

            // From then on revisions count as before: an equal revision is not loaded, a higher one is.
            try await office.database.psql("update federation.applications set name = 'unseen'")
            try await directory.refresh()
            #expect(try name() == "restored")
            try await office.database.psql(
                "update federation.applications set revision = 3; update federation.configuration set revision = 3"
            )
            try await directory.refresh()
            #expect(try name() == "unseen")
        }
    }

    @Test("a change that cannot be read keeps its application from being served until it can be")
    func unreadChange() async throws {
        try await Office.lend { office in
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let id = try #require(ApplicationID("demo"))
            try await directory.refresh()
            #expect(throws: Never.self) { try directory.application(id: "demo") }
            try await office.database.psql("alter table federation.configuration rename to away")
            await directory.follow(changeOf: id)
            let failure = #expect(throws: Failure.self) { try directory.application(id: "demo") }
            #expect(failure?.reason == .storeUnavailable && failure?.retryAfter != nil)
            try await directory.refresh()
            #expect(throws: Failure.self) { try directory.application(id: "demo") }
            try await office.database.psql("alter table federation.away rename to configuration")
            try await directory.refresh()
            #expect(throws: Never.self) { try directory.application(id: "demo") }
        }
    }

    @Test("the successor of an application is what it has become, and one that is gone is said to be")
    func successor() async throws {
        try await Office.lend { office in
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await directory.refresh()
            let first = try directory.application(id: "demo")
            #expect(try await directory.successor(of: first, until: .now + .seconds(5)) == nil, "nothing has changed")
            _ = try await office.administration.applications.change(
                "demo",
                patch: try json(#"{"name": "other"}"#),
                if: .any,
                by: Office.actor
            )
            let second = try await directory.successor(of: first, until: .now + .seconds(5))
            #expect(second?.application.name == "other")
            #expect(try await directory.successor(of: first, until: .now) === second, "without another look")
            try await office.administration.applications.delete(
                "demo",
                confirmation: "demo",
                if: .any,
                by: Office.actor
            )
            let gone = try #require(second)
            let failure = await #expect(throws: Failure.self) {
                try await directory.successor(of: gone, until: .now + .seconds(5))
            }
            #expect(failure?.reason == .unknownApplication)
        }
    }
}
