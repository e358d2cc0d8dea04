import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Claims of identities whose check is due")
struct IdentityClaimTests {
    @Test(
        "a login makes the check due after a day, soon where a short-lived token is to be exchanged, never for an ID token"
    )
    func due() async throws {
        try await Tenant.lend { tenant in
            let soon = Int64(Date().timeIntervalSince1970) + 3600
            let keeping = tenant.keepingTokens()
            let exchanging = tenant.keepingTokens(.exchanged)
            try await keeping.login("1", token: "a", expiresAt: soon)
            try await exchanging.login("2", token: "b", expiresAt: soon)
            try await exchanging.login("3", token: "c", expiresAt: soon + 60 * 86_400)
            try await exchanging.login("4", token: "d", expiresAt: nil)
            try await exchanging.login("5", token: "e", kind: .id, expiresAt: soon)
            let due =
                "case when check_due <= now() then 'now' when check_due > now() + interval '23 hours' then 'day' end"
            var found: [String?] = []
            for subject in 1...5 { found.append(try await tenant.identity(due, String(subject))) }
            #expect(found == ["day", "now", "day", "day", nil])
            #expect(try await exchanging.claim().map(\.subject.text) == ["2"])
        }
    }

    @Test("twelve who claim at once get every identity, and none of them twice")
    func atOnce() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(600)
            let claimed = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        var mine: [String] = []
                        // A claim returns nothing when other claims have locked all remaining identities.
                        repeat {
                            mine += try await tenant.claim(7).map(\.subject.text)
                        } while try await tenant.due() > 0
                        return mine
                    }
                }
                return try await group.reduce(into: [String]()) { $0 += $1 }
            }
            #expect(claimed.count == 600)
            #expect(Set(claimed).count == 600)
        }
    }

    @Test("a provider's identities are claimed for that provider alone")
    func ofProvider() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(3)
            try await tenant.fill(2, at: "other")
            #expect(try await tenant.claim(at: .other).map(\.key.provider) == [.other, .other])
            #expect(try await tenant.due() == 3)
            #expect(try await tenant.claim().map(\.key.provider) == [.facebook, .facebook, .facebook])
        }
    }

    @Test("what was claimed by one who is gone comes back when the lease is over, and not before")
    func lease() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(3)
            let start = ContinuousClock.now
            #expect(try await tenant.claim(2, seconds: 1).count == 2)
            #expect(try await tenant.claim(seconds: 60).count == 1)
            try await eventually("the claims come back") { try await tenant.claim(seconds: 60).count == 2 }
            #expect(ContinuousClock.now - start >= .seconds(1))
        }
    }

    @Test("a row that somebody holds is skipped without waiting")
    func skipping() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(3)
            try await tenant.database.whileLocked(
                "select from \(Tenant.schema).identities where subject = '2' for update"
            ) {
                let free = try await tenant.claim().map(\.subject.text)
                #expect(Set(free) == ["1", "3"])
            }
            #expect(try await tenant.claim().map(\.subject.text) == ["2"])
        }
    }

    @Test("those that have been due for longest come first, whatever else there is")
    func order() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(5)
            try await tenant.database.psql(
                "update \(Tenant.schema).identities set check_due = now() - interval '1 hour' where subject in ('2', '4')"
            )
            let first = try await tenant.claim(2).map(\.subject.text)
            #expect(Set(first) == ["2", "4"])
        }
    }
}
