import Domain
import Store
import Testing
import TestSupport

@Suite("Sessions beside those of an app")
struct SessionOffspringTests {
    private static func open(beside former: [UInt8], in tenant: Tenant) async throws -> [UInt8] {
        let hash = Tenant.randomHash()
        _ = try await tenant.store.openSession(hash, beside: former, seconds: 3600, in: tenant.application)
        return hash
    }

    private static func live(_ hashes: [[UInt8]], in tenant: Tenant) async throws -> [Bool] {
        var live: [Bool] = []
        for hash in hashes {
            live.append(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() != nil)
        }
        return live
    }

    private static func login(to tenant: Tenant) async throws -> [UInt8] {
        let hash = Tenant.randomHash()
        _ = try await tenant.login("1", writing: nil, to: "nick", .always, hash: hash)
        return hash
    }

    @Test("they count for none of those that a user may have")
    func limits() async throws {
        for excess in [SessionLimitBehavior.refuse, .endOldest] {
            try await Tenant.lend { tenant in
                var tenant = tenant
                tenant.application.settings.sessionLimitBehavior = excess
                tenant.application.settings.maxSessions = 2
                let first = try await Self.login(to: tenant)
                let page = try await Self.open(beside: first, in: tenant)
                let second = try await Self.login(to: tenant)
                #expect(try await Self.live([first, page, second], in: tenant) == [true, true, true], "\(excess)")
                if excess == .refuse {
                    let failure = await #expect(throws: Failure.self) { try await Self.login(to: tenant) }
                    #expect(failure?.reason == .tooManySessions)
                    #expect(try await Self.live([first, page, second], in: tenant) == [true, true, true])
                } else {
                    let third = try await Self.login(to: tenant)
                    let live = try await Self.live([first, page, second, third], in: tenant)
                    #expect(live == [false, false, true, true], "it ends with its own")
                }
            }
        }
    }

    @Test("there is one beside each, and one beside it is beside the same; those whose own has ended go with the next")
    func one() async throws {
        try await Tenant.lend { tenant in
            let (phone, tablet) = (try await Self.login(to: tenant), try await Self.login(to: tenant))
            let first = try await Self.open(beside: phone, in: tenant)
            let other = try await Self.open(beside: tablet, in: tenant)
            #expect(try await Self.live([phone, tablet, first, other], in: tenant) == [true, true, true, true])
            let second = try await Self.open(beside: phone, in: tenant)
            #expect(try await Self.live([phone, first, second, other], in: tenant) == [true, false, true, true])
            let third = try await Self.open(beside: second, in: tenant)
            #expect(try await Self.live([phone, second, third, other], in: tenant) == [true, false, true, true])
            // An instance of a former version ends a session like this, since it knows no dependent sessions.
            let hex = tablet.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try await tenant.database.psql("delete from \(Tenant.schema).sessions where token_hash = '\\x\(hex)'")
            let fourth = try await Self.open(beside: phone, in: tenant)
            #expect(try await Self.live([phone, third, fourth, other], in: tenant) == [true, false, true, false])
        }
    }

    @Test("they end with their own: by logging out, by its user and by an operator")
    func endings() async throws {
        try await Tenant.lend { tenant in
            let other = try await Self.login(to: tenant)
            let kept = try await Self.open(beside: other, in: tenant)
            for way in 0..<3 {
                let session = try await Self.login(to: tenant)
                let page = try await Self.open(beside: session, in: tenant)
                let user = try await tenant.store.sessionUser(tokenHash: page, of: tenant.application).get()
                let id = try #require(user?.objectID)
                let own = try await tenant.store.ownSessions(of: id, asking: session, in: tenant.application)
                let name = try #require(own.first { $0.isCurrent }?.id)
                switch way {
                case 0: #expect(try await tenant.store.endSession(tokenHash: session, of: tenant.application))
                case 1: #expect(try await tenant.store.endOwnSession(name, of: id, in: tenant.application))
                default: _ = try await tenant.change(id, .endSession(id: name))
                }
                let live = try await Self.live([session, page, other, kept], in: tenant)
                #expect(live == [false, false, true, true], "\(way)")
            }
            #expect(try await tenant.store.endSession(tokenHash: kept, of: tenant.application))
            #expect(try await Self.live([other, kept], in: tenant) == [true, false], "one of the page ends by itself")
        }
    }

    @Test("beside one that has ended there is none")
    func ended() async throws {
        try await Tenant.lend { tenant in
            let session = try await Self.login(to: tenant)
            try await tenant.database.psql("update \(Tenant.schema).sessions set expires = now() - interval '1 second'")
            let failure = await #expect(throws: Failure.self) { try await Self.open(beside: session, in: tenant) }
            #expect(failure?.reason == .sessionInvalid)
            #expect(try await tenant.count("sessions") == "1")
        }
    }
}
