import Domain
import Postgres
import Store
import Synchronization
import Testing
import TestSupport

@Suite("Copies of the configuration")
struct ConfigurationCopyTests {
    /// Adds that many applications to the database, each with an API key and a property.
    private func fill(_ database: TestDatabase, _ count: Int) async throws {
        try await database.psql(
            """
            insert into federation.applications (id, name, schema_name)
                select 'app' || n, 'App', 'app' || n from generate_series(1, \(count)) n;
            insert into federation.api_keys (application_id, key_hash, label)
                select id, sha256(convert_to(id, 'UTF8')), 'ios' from federation.applications;
            insert into federation.properties (application_id, name, position, type, required, client_mappable)
                select id, 'nick', 0, 'STRING', false, true from federation.applications
            """
        )
    }

    private func rename(_ id: ApplicationID, in store: Store) async throws -> Int64? {
        try await store.change(id, by: Tenant.actor) { _, _ in
            [PlannedChange(.rename("New"), action: "test", target: nil, from: nil, to: nil)]
        }?.revision
    }

    @Test("a copy brings all ids and only the applications that changed, in a fraction of the time of a whole one")
    func changes() async throws {
        try await withDatabase(.schema) { database in
            try await fill(database, 1000)
            try await withStore(database.url) { store in
                let start = ContinuousClock.now
                let whole = try await store.configuration(changedAfter: 0)
                let wholeTime = ContinuousClock.now - start
                #expect(whole.ids.count == 1000)
                #expect(whole.changed.count == 1000)
                #expect(whole.changed.allSatisfy { $0.keys.count == 1 && $0.properties.count == 3 })
                #expect(whole.revision == 1)
                let none = try await store.configuration(changedAfter: whole.revision)
                #expect(none.ids.count == 1000 && none.changed.isEmpty)

                let (first, second) = (try #require(ApplicationID("app7")), try #require(ApplicationID("app8")))
                #expect(try await rename(first, in: store) == 2)
                #expect(try await rename(second, in: store) == 3)
                // The minimum of several runs, since the machine may be busy.
                var durations: [Duration] = []
                for _ in 0..<10 {
                    let start = ContinuousClock.now
                    let changed = try await store.configuration(changedAfter: 2)
                    durations.append(.now - start)
                    #expect(changed.changed.map(\.id) == [second])
                    #expect(changed.revision == 3)
                }
                #expect(try #require(durations.min()) < wholeTime / 3)
                #expect(try await store.configurationState().revision == 3)
            }
        }
    }

    @Test("lists go in the order of ids, from page to page")
    func pages() async throws {
        try await withDatabase(.schema) { database in
            try await fill(database, 25)
            try await withStore(database.url) { store in
                var ids: [String] = []
                while true {
                    let page = try await store.applications(after: ids.last.flatMap { ApplicationID($0) }, limit: 10)
                    ids += page.map(\.id.text)
                    if page.count < 10 { break }
                }
                #expect(ids.count == 25)
                #expect(ids == ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            }
        }
    }

    @Test("whoever has seen a revision has seen all before it, however changes overlap")
    func order() async throws {
        try await withDatabase(.schema) { database in
            try await fill(database, 8)
            try await withStore(database.url) { store in
                let isOver = Mutex(false)
                async let changing: Void = {
                    defer { isOver.withLock { $0 = true } }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 1...8 {
                            let id = try #require(ApplicationID("app\(number)"))
                            group.addTask { for _ in 0..<15 { _ = try await rename(id, in: store) } }
                        }
                        try await group.waitForAll()
                    }
                }()
                // Like an instance, this loop asks for the changes after its revision and keeps the revision that it
                // gets.
                var revisions: [ApplicationID: Int64] = [:]
                var seen: Int64 = 0
                var isLast = false
                while !isLast {
                    isLast = isOver.withLock { $0 }
                    let copy = try await store.configuration(changedAfter: seen)
                    for application in copy.changed {
                        #expect(application.revision <= copy.revision)
                        revisions[application.id] = application.revision
                    }
                    seen = copy.revision
                }
                try await changing
                #expect(seen == 121)
                let truth = try await store.configuration(changedAfter: 0).changed
                #expect(Dictionary(uniqueKeysWithValues: truth.map { ($0.id, $0.revision) }) == revisions)
            }
        }
    }
}
