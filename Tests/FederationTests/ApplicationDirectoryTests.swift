import Federation
import Identity
import Logging
import TestSupport
import Testing

@Suite("The copy of every application's configuration")
struct ApplicationDirectoryTests {
    @Test("a revision lower than the copy's is another database: everything is read anew")
    func lowerRevision() async throws {
        try await Office.lend { office in
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey))),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let key = "canary-key-0123456789"
            let label = try json(#"{"label":"ios","key":"\#(key)"}"#)
            _ = try await office.administration.createKey(of: "demo", label, by: Office.actor)
            try await directory.refresh()
            func name() throws -> String {
                let found = try directory.application(id: "demo", key: key[...])
                return found.application.application.name
            }
            #expect(try name() == "demo")

            // A backup that was taken before some changes: what it holds has revisions that the copy has seen long ago.
            try await office.database.psql(
                """
                update federation.applications set name = 'restored', revision = 1;
                update federation.configuration set revision = 2
                """
            )
            try await directory.refresh()
            #expect(try name() == "restored")

            // From there on it goes as ever: what has the copy's revision is not looked at, what has a higher one is.
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
}
