import Domain
import Store
import Testing
import TestSupport

@Suite("Operators")
struct OperatorTests {
    @Test(
        "an operator is made with a token, changed, and deleted with all tokens; each step is one entry of the audit log"
    )
    func life() async throws {
        try await Office.open { office in
            let (first, second) = (Tenant.randomHash(), Tenant.randomHash())
            let made = try await office.change("ann", [.create(role: .viewer), .token("1", first)])
            #expect(made?.role == .viewer)
            #expect(made?.tokens.map(\.id) == [Office.id("1")])
            #expect(made?.tokens.first?.expires == nil && made?.tokens.first?.lastUsed == nil)

            #expect(try await office.change("ann", [.setRole(.owner)])?.role == .owner)
            #expect(try await office.change("ann", [.setRole(.owner)])?.role == .owner)
            let expires: Int64 = 4_000_000_000_123
            let two = try await office.change("ann", [.token("2", second, expires: expires)])
            #expect(two?.tokens.map(\.id) == [Office.id("2"), Office.id("1")])
            #expect(two?.tokens.first?.expires == expires)

            #expect(try await office.change("ann", [.revokeToken(id: Office.id("1"))])?.tokens.count == 1)
            #expect(try await office.change("ann", [.revokeToken(id: Office.id("1"))])?.tokens.count == 1)
            #expect(try await office.change("ann", [.delete]) == nil)
            #expect(try await office.change("ann", [.delete]) == nil)
            #expect(try await office.store.operator(Office.name("ann")) == nil)
            #expect(try await office.database.psql("select * from federation.operator_tokens") == [])

            let log = try await office.database.psql(
                "select action, target, details, actor, source, application_id from federation.audit_log order by id"
            )
            let usual = #""machine": false, "purpose": "calls""#
            let entries = [
                ("operator.create", #"{"to": {"role": "viewer"}}"#),
                (
                    "operator.token.create",
                    #"{"to": {"id": "\#(Office.id("1"))", "expires": null, \#(usual)}}"#
                ),
                ("operator.role", #"{"to": {"role": "owner"}, "from": {"role": "viewer"}}"#),
                (
                    "operator.token.create",
                    #"{"to": {"id": "\#(Office.id("2"))", "expires": \#(expires), \#(usual)}}"#
                ),
                ("operator.token.revoke", #"{"from": {"id": "\#(Office.id("1"))"}}"#),
                ("operator.delete", #"{"from": {"role": "owner"}}"#),
            ]
            #expect(log == entries.map { [$0.0, "ann", $0.1, "root", "here", nil] })
        }
    }

    @Test("eight make the same operator at once: one does, the others meet a conflict and leave no token")
    func creationRace() async throws {
        try await Office.open { office in
            let reasons = await withTaskGroup(of: Failure.Reason?.self) { group in
                for place in 0..<8 {
                    group.addTask {
                        do {
                            let token = OperatorChange.token(String(place), Tenant.randomHash())
                            _ = try await office.change("ann", [.create(role: .owner), token])
                            return nil
                        } catch { return (error as? Failure)?.reason ?? .internal }
                    }
                }
                return await group.reduce(into: [Failure.Reason?]()) { $0.append($1) }
            }
            #expect(reasons.filter { $0 == nil }.count == 1)
            #expect(reasons.filter { $0 == .conflict }.count == 7)
            let tokens = try await office.database.psql("select count(*) from federation.operator_tokens")
            #expect(tokens == [["1"]])
            #expect(try await office.database.psql("select count(*) from federation.audit_log") == [["2"]])
        }
    }

    @Test("what the plan throws passes through, and of several steps none stays")
    func refusedByPlan() async throws {
        struct Refusal: Error {}
        try await Office.open { office in
            await #expect(throws: Refusal.self) {
                try await office.store.change(Office.name("ann"), by: Office.root) { before in
                    #expect(before == nil)
                    throw Refusal()
                }
            }
            await #expect(throws: Failure.self) {
                try await office.change("ann", [.create(role: .owner), .token("1", []), .setRole(.viewer)])
            }
            let operators = try await office.store.operators(after: nil, limit: 10)
            #expect(operators.isEmpty)
            #expect(try await office.database.psql("select count(*) from federation.audit_log") == [["0"]])
        }
    }

    @Test("a list goes by name in pages, with each one's tokens")
    func pages() async throws {
        try await Office.open { office in
            for (place, name) in ["bob", "ann@example.com", "Zoe", "b-2"].enumerated() {
                _ = try await office.change(name, [.create(role: .viewer)])
                for token in 0..<place {
                    _ = try await office.change(name, [.token("\(place)\(token)", Tenant.randomHash())])
                }
            }
            var found: [StoredOperator] = []
            while found.count < 5 {
                let page = try await office.store.operators(after: found.last?.name, limit: 3)
                found += page
                if page.count < 3 { break }
            }
            #expect(found.map(\.name.text) == ["Zoe", "ann@example.com", "b-2", "bob"])
            #expect(found.map(\.tokens.count) == [2, 1, 3, 0])
        }
    }
}

@Suite("Tokens of operators")
struct OperatorTokenTests {
    @Test(
        "a live token names its operator; a revoked, an expired and an unknown one name nobody, from the next request on"
    )
    func lookup() async throws {
        try await Office.open { office in
            let (live, brief) = (Tenant.randomHash(), Tenant.randomHash())
            let past: Int64 = 1_600_000_000_000
            _ = try await office.change("ann", [.create(role: .editor), .token("1", live)])
            _ = try await office.change("ann", [.token("2", brief, expires: past)])
            #expect(try await office.role(of: live) == .editor)
            #expect(try await office.role(of: brief) == nil)
            #expect(try await office.role(of: Tenant.randomHash()) == nil)
            #expect(try await office.store.operator(Office.name("ann"))?.tokens.map(\.id) == [Office.id("1")])

            _ = try await office.change("ann", [.setRole(.viewer)])
            #expect(try await office.role(of: live) == .viewer)
            _ = try await office.change("ann", [.revokeToken(id: Office.id("1"))])
            #expect(try await office.role(of: live) == nil)
        }
    }

    @Test("a deleted operator's tokens name nobody")
    func deleted() async throws {
        try await Office.open { office in
            let hash = Tenant.randomHash()
            _ = try await office.change("ann", [.create(role: .editor), .token("1", hash)])
            _ = try await office.change("ann", [.delete])
            #expect(try await office.role(of: hash) == nil)
        }
    }

    @Test("expired tokens of an operator go when a further one is made")
    func housekeeping() async throws {
        try await Office.open { office in
            _ = try await office.change("bob", [.create(role: .viewer), .token("0", Tenant.randomHash(), expires: 1)])
            _ = try await office.change("ann", [.create(role: .viewer), .token("1", Tenant.randomHash(), expires: 1)])
            _ = try await office.change("ann", [.token("2", Tenant.randomHash())])
            let left = try await office.database.psql("select operator, id from federation.operator_tokens order by id")
            #expect(left == [["bob", Office.id("0")], ["ann", Office.id("2")]])
        }
    }

    @Test("the use is noted at most once a minute")
    func lastUsed() async throws {
        try await Office.open { office in
            let hash = Tenant.randomHash()
            _ = try await office.change("ann", [.create(role: .viewer), .token("1", hash)])
            func version() async throws -> [[String?]] {
                try await office.database.psql("select xmin, last_used from federation.operator_tokens")
            }
            #expect(try await office.role(of: hash) == .viewer)
            #expect(try await office.store.operator(Office.name("ann"))?.tokens.first?.lastUsed != nil)
            let first = try await version()
            for _ in 0..<3 { #expect(try await office.role(of: hash) == .viewer) }
            #expect(try await version() == first)
            try await office.database.psql(
                "update federation.operator_tokens set last_used = last_used - interval '61 s'"
            )
            let old = try await version()
            #expect(try await office.role(of: hash) == .viewer)
            #expect(try await version() != old)
        }
    }

    @Test("a request does not wait for whoever holds the token's row")
    func noWaiting() async throws {
        try await Office.open { office in
            let hash = Tenant.randomHash()
            _ = try await office.change("ann", [.create(role: .viewer), .token("1", hash)])
            try await office.database.whileLocked("select from federation.operator_tokens for update") {
                let role = try await office.role(of: hash)
                #expect(role == .viewer)
            }
            #expect(try await office.store.operator(Office.name("ann"))?.tokens.first?.lastUsed == nil)
            #expect(try await office.role(of: hash) == .viewer)
            #expect(try await office.store.operator(Office.name("ann"))?.tokens.first?.lastUsed != nil)
        }
    }
}

/// A database without applications, and a store for it.
private struct Office {
    let store: Store
    let database: TestDatabase

    static let root = ChangeAuthor(name: "root", source: "here")

    static func open(_ body: (Office) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            try await withStore(database.url) { store in try await body(Office(store: store, database: database)) }
        }
    }

    func change(_ name: String, _ changes: [OperatorChange]) async throws -> StoredOperator? {
        try await store.change(Self.name(name), by: Self.root) { _ in changes }
    }

    func role(of hash: [UInt8]) async throws -> OperatorRole? {
        try await store.operator(tokenHash: hash)?.role
    }

    static func name(_ text: String) -> OperatorName {
        guard let name = OperatorName(text) else { preconditionFailure("\(text) is no name of an operator") }
        return name
    }

    /// Returns an id of sixteen digits that ends in the given ones.
    static func id(_ digits: String) -> String { String(repeating: "0", count: 16 - digits.utf8.count) + digits }
}

extension OperatorChange {
    fileprivate static func token(_ digits: String, _ hash: [UInt8], expires: Int64? = nil) -> OperatorChange {
        .addToken(id: Office.id(digits), hash: hash, expires: expires, isMachine: false, purpose: .calls)
    }
}
