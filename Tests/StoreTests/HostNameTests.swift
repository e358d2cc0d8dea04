import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("A host name belongs to one application")
struct HostNameTests {
    private static func settings(_ names: String...) -> JSONValue {
        .object(["hostNames": .array(names.map(JSONValue.string))])
    }

    @Test("what another application has is refused, at its making and at a change, and what nobody has is given")
    func taken() async throws {
        try await Tenant.lend { tenant in
            let other = try #require(ApplicationID("other"))
            try await tenant.change(.changeSettings(Self.settings("a.example", "b.example")))
            let before = try await tenant.state()
            let create = { (names: JSONValue) -> [ConfigurationChange] in
                [.create(name: "Other", schema: "other", settings: names)]
            }
            let refused = try await #require(throws: Failure.self) {
                try await tenant.change(create(Self.settings("c.example", "b.example")), of: other)
            }
            #expect(refused.reason == .conflict)
            #expect(refused.details == ["hostName": .string("b.example"), "application": .string("tenant")])
            #expect(try await tenant.state() == before)

            try await tenant.change(create(Self.settings("c.example")), of: other)
            await #expect(throws: Failure.self) {
                try await tenant.change([.changeSettings(Self.settings("a.example"))], of: other)
            }
            try await tenant.change(.changeSettings(Self.settings("b.example")))
            try await tenant.change([.changeSettings(Self.settings("a.example", "c.example"))], of: other)

            try await tenant.store.refuseTakenHostNames(["a.example"], of: other)
            try await tenant.store.refuseTakenHostNames(
                ["nobody.example", "a.exampl", "A.example"],
                of: tenant.application.id
            )
            await #expect(throws: Failure.self) {
                try await tenant.store.refuseTakenHostNames(["a.example"], of: tenant.application.id)
            }
        }
    }

    @Test("of many applications that ask for a name at once one gets it")
    func race() async throws {
        try await Tenant.lend { tenant in
            let ids = (0..<8).compactMap { ApplicationID("app\($0)") }
            for id in ids {
                try await tenant.change([.create(name: "x", schema: id.text, settings: .object([:]))], of: id)
            }
            // No change can commit before several of them wait for the lock.
            let race = try await tenant.database.whileLocked("select from federation.configuration for update") {
                let race = Task { try await Self.winners(among: ids, of: "a.example", in: tenant) }
                try await eventually("several wait") {
                    let waiting = try await tenant.database.psql(
                        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                    )
                    return waiting.count >= 2
                }
                return race
            }
            let winners = try await race.value
            #expect(winners == 1)
        }
    }

    /// Returns how many of the applications get the host name when all of them request it at once.
    private static func winners(
        among ids: [ApplicationID],
        of name: String,
        in tenant: Tenant
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for id in ids {
                group.addTask {
                    do {
                        try await tenant.change([.changeSettings(settings(name))], of: id)
                        return true
                    } catch let failure as Failure where failure.details["hostName"] != nil {
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }
}
