import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Where logins beyond the sessions that a user may have are refused")
struct RefusedLoginTests {
    private static let hash = EncryptedSecret(bytes: [1, 2, 3], keyID: "key")

    /// Lends a tenant whose users may have `max` sessions, and one user with a password and an identity.
    private func lend(
        max: Int64?,
        _ body: @Sendable @escaping (_ tenant: Tenant, _ user: ObjectID) async throws -> Void
    ) async throws {
        try await Tenant.lend { tenant in
            var tenant = tenant
            let user = try await tenant.login("1", writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(user)', 'ann@example.com', '\\x010203', 'key');
                delete from \(Tenant.schema).sessions
                """
            )
            tenant.application.settings.sessionLimitBehavior = .refuse
            if let max { tenant.application.settings.maxSessions = max }
            tenant.application.settings.multipleLogins = max != nil
            try await body(tenant, user)
        }
    }

    /// Returns why a login was refused; nil when it succeeded.
    private static func refusal(_ body: () async throws -> Void) async throws -> Failure.Reason? {
        do { try await body() } catch let failure as Failure { return failure.reason }
        return nil
    }

    private static func byProvider(
        _ tenant: Tenant,
        subject: String = "1",
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil,
        nick: String = "Ann"
    ) async throws -> Failure.Reason? {
        try await refusal {
            _ = try await tenant.login(
                subject,
                writing: .text(nick),
                to: "nick",
                .always,
                previous: previous,
                hash: hash
            )
        }
    }

    private static func byPassword(
        _ tenant: Tenant,
        _ user: ObjectID,
        asked: Bool = true,
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil
    ) async throws -> Failure.Reason? {
        try await refusal {
            let session = SessionOpening(
                user: user,
                grounds: asked ? .password(Self.hash) : .server,
                login: "ann@example.com",
                tokenHash: hash,
                previousTokenHash: previous
            )
            _ = try await tenant.store.openSession(session, of: tenant.application).get()
        }
    }

    @Test("one is allowed: the next is refused whatever it is by, and writes nothing; the former goes on")
    func one() async throws {
        try await lend(max: nil) { tenant, user in
            let first = Tenant.randomHash()
            #expect(try await Self.byProvider(tenant, hash: first) == nil)
            let rows = "select u, i from \(Tenant.users) u, \(Tenant.schema).identities i"
            let before = try await tenant.database.psql(rows)
            #expect(try await Self.byProvider(tenant, nick: "Mallory") == .alreadyLoggedIn)
            #expect(try await Self.byPassword(tenant, user) == .alreadyLoggedIn)
            #expect(try await Self.byPassword(tenant, user, asked: false) == .alreadyLoggedIn, "a server's login")
            #expect(try await tenant.database.psql(rows) == before)
            #expect(try await tenant.store.sessionUser(tokenHash: first, of: tenant.application).get() != nil)
            #expect(try await Self.byProvider(tenant, subject: "2") == nil, "another user")

            // A repeat of the same login is accepted, and so is a login that replaces the client's own session.
            #expect(try await Self.byProvider(tenant, hash: first) == nil)
            let second = Tenant.randomHash()
            #expect(try await Self.byPassword(tenant, user, hash: second, previous: first) == nil)
            #expect(try await tenant.store.sessionUser(tokenHash: first, of: tenant.application).get() == nil)
            #expect(try await Self.byProvider(tenant, previous: second) == nil)
            #expect(try await tenant.count("sessions") == "2")
            #expect(try await Self.byPassword(tenant, user, previous: second) == .alreadyLoggedIn, "one that has ended")
        }
    }

    @Test("another's session makes no room, and is left alone")
    func foreign() async throws {
        try await lend(max: nil) { tenant, user in
            let other = Tenant.randomHash()
            #expect(try await Self.byProvider(tenant, subject: "2", hash: other) == nil)
            #expect(try await Self.byPassword(tenant, user) == nil)
            #expect(try await Self.byPassword(tenant, user, previous: other) == .alreadyLoggedIn)
            let owner = try await tenant.store.sessionUser(tokenHash: other, of: tenant.application).get()
            #expect(owner != nil)
        }
    }

    @Test("sessions that are over, by either of their ends, do not count")
    func living() async throws {
        try await lend(max: 2) { tenant, user in
            for _ in 1...2 { #expect(try await Self.byPassword(tenant, user) == nil) }
            #expect(try await Self.byPassword(tenant, user) == .tooManySessions)
            let sessions = "\(Tenant.schema).sessions"
            try await tenant.database.psql("update \(sessions) set last_seen = now() - interval '15 days'")
            for _ in 1...2 { #expect(try await Self.byPassword(tenant, user) == nil) }
            #expect(try await Self.byProvider(tenant) == .tooManySessions)
            try await tenant.database.psql("update \(sessions) set expires = now() - interval '1 s'")
            #expect(try await Self.byProvider(tenant) == nil)
        }
    }

    @Test("a disabled user hears that, and not of the sessions")
    func disabled() async throws {
        try await lend(max: nil) { tenant, user in
            #expect(try await Self.byPassword(tenant, user) == nil)
            try await tenant.database.psql("update \(Tenant.users) set user_status = 'DISABLED'")
            #expect(try await Self.byPassword(tenant, user) == .accountDisabled)
            #expect(try await Self.byProvider(tenant) == .accountDisabled)
        }
    }

    @Test("a credential that counts once is refused alike, and lets its owner in when there is room")
    func once() async throws {
        try await lend(max: nil) { tenant, user in
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: [],
                use: .once
            )
            func login(_ credential: [UInt8]) async throws -> Failure.Reason? {
                let use = SingleUse(hash: credential, issuedAt: 1, seconds: 600, owner: [1], nonceHash: nil)
                let write = try tenant.write("1", [], once: use)
                return try await Self.refusal {
                    _ = try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
                }
            }
            let credential = Tenant.randomHash()
            #expect(try await Self.byPassword(tenant, user) == nil)
            #expect(try await login(credential) == .alreadyLoggedIn)
            try await tenant.database.psql("delete from \(Tenant.schema).sessions")
            #expect(try await login(credential) == nil)
        }
    }

    @Test("by a session that lives a further identity is linked, however many there are", arguments: [1, 3] as [Int64])
    func linking(max: Int64) async throws {
        try await lend(max: max) { tenant, user in
            var hashes: [[UInt8]] = []
            for _ in 1...max {
                hashes.append(Tenant.randomHash())
                #expect(try await Self.byPassword(tenant, user, hash: hashes.last ?? []) == nil)
            }
            var tenant = tenant
            // The operator now allows fewer sessions than the user has.
            tenant.application.settings.maxSessions = 1
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: []
            )
            let other = IdentityKey(
                provider: .facebook,
                app: try #require(ProviderAppID("43")),
                subject: try #require(Subject("7"))
            )
            let write = tenant.write(as: other, [], hash: hashes[0])
            let linked = try await tenant.store.login(
                write,
                by: statement,
                linking: .session(tokenHash: hashes[0], authenticatedWithin: 300)
            ).get()
            #expect(linked.user.objectID == user && linked.linked)
            #expect(try await tenant.count("sessions") == String(max))
        }
    }

    @Test("a guest who becomes a person has room, whose own session ends with that")
    func guest() async throws {
        try await lend(max: nil) { tenant, _ in
            let (id, hash) = (ObjectID(UUID()), Tenant.randomHash())
            _ = try await tenant.store.makeGuest(id, tokenHash: hash, of: tenant.application).get()
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: []
            )
            let converted = try await tenant.store.login(
                try tenant.write("9", []),
                by: statement,
                linking: .guest(id, tokenHash: hash)
            ).get()
            #expect(converted.user.objectID == id)
            #expect(try await Self.byProvider(tenant, subject: "9") == .alreadyLoggedIn)
        }
    }

    @Test("of simultaneous logins by whatever no more get through than are allowed", arguments: [1, 3] as [Int64])
    func races(max: Int64) async throws {
        try await lend(max: max) { tenant, user in
            for round in 0..<10 {
                try await tenant.database.psql("delete from \(Tenant.schema).sessions")
                let refusals = try await withThrowingTaskGroup(of: Failure.Reason?.self) { group in
                    for number in 0..<9 {
                        group.addTask {
                            switch number % 3 {
                            case 0: try await Self.byProvider(tenant)
                            case 1: try await Self.byPassword(tenant, user)
                            default: try await Self.byPassword(tenant, user, asked: false)
                            }
                        }
                    }
                    return try await group.reduce(into: [Failure.Reason?]()) { $0.append($1) }
                }
                #expect(refusals.count { $0 == nil } == max, "round \(round)")
                #expect(refusals.allSatisfy { $0 == nil || $0 == .tooManySessions })
                #expect(try await tenant.count("sessions") == String(max))
            }
        }
    }

    @Test("of simultaneous first logins of one person no more get through, either")
    func newcomers() async throws {
        try await lend(max: 1) { tenant, _ in
            for round in 0..<10 {
                let subject = String(4000 + round)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<6 { group.addTask { _ = try await Self.byProvider(tenant, subject: subject) } }
                    try await group.waitForAll()
                }
                #expect(try await tenant.count("sessions") == String(round + 1))
            }
        }
    }
}
