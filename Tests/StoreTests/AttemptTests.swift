import Domain
import Store
import Testing
import TestSupport

@Suite("Failed attempts")
struct AttemptTests {
    private static func key(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

    private static func keys(_ account: UInt8, from source: UInt8 = 200) -> AttemptKeys {
        AttemptKeys(source: key(source), account: key(account))
    }

    @Test("T-80: four may follow each other, from the fifth on the wait doubles up to half a minute")
    func waits() async throws {
        try await Tenant.lend { tenant in
            for _ in 1...5 { #expect(try await tenant.attempt(Self.keys(1)) == nil) }
            for wait in [1, 2, 4, 8, 16, 30, 30] {
                let seconds = try #require(try await tenant.attempt(Self.keys(1)))
                #expect((max(wait - 1, 1)...wait).contains(seconds), "\(wait)")
                try await tenant.letWaitsPass()
                #expect(try await tenant.attempt(Self.keys(1)) == nil)
            }
            #expect(try await tenant.attempt(Self.keys(2)) == nil, "another login of the same source")
        }
    }

    @Test("T-80: of guesses that come at once on two instances no more get through than one after the other")
    func parallel() async throws {
        try await Tenant.lend { tenant in
            let other = tenant
            let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        try await (number.isMultiple(of: 2) ? tenant : other).attempt(Self.keys(1)) == nil
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect((5...6).contains(admitted))
            #expect(try await tenant.failures(of: Self.key(200)) == "\(admitted) \(admitted)", "of the source as well")
        }
    }

    @Test("a login has a hundred within an hour, and then waits for its end")
    func hourly() async throws {
        try await Tenant.lend { tenant in
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            let key = "key = '\\x\(String(repeating: "01", count: 32))'"
            try await tenant.database.psql(
                "update \(Tenant.schema).attempts set recent = 99, counted_since = now() - interval '50 minutes' where \(key)"
            )
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            let wait = try #require(try await tenant.attempt(Self.keys(1)))
            #expect((590...600).contains(wait))
            try await tenant.database.psql(
                "update \(Tenant.schema).attempts set counted_since = now() - interval '61 minutes' where \(key)"
            )
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            #expect(try await tenant.failures(of: Self.key(1)) == "3 1")
        }
    }

    @Test("the application says how many lock a login, and for how long")
    func lock() async throws {
        try await Tenant.lend { tenant in
            var tenant = tenant
            tenant.application.settings.lockout.failures = 3
            tenant.application.settings.lockout.seconds = 600
            for _ in 1...3 { #expect(try await tenant.attempt(Self.keys(1)) == nil) }
            let wait = try #require(try await tenant.attempt(Self.keys(1)))
            #expect((590...600).contains(wait))
            #expect(try await tenant.attempt(Self.keys(2)) == nil, "another login of the same source")
            let key = "key = '\\x\(String(repeating: "01", count: 32))'"
            try await tenant.database.psql(
                "update \(Tenant.schema).attempts set counted_since = now() - interval '601 s' where \(key)"
            )
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            #expect(try await tenant.failures(of: Self.key(1)) == "4 1")
        }
    }

    @Test("T-82: a success clears the own login, and of the source neither the other failures nor the wait")
    func success() async throws {
        try await Tenant.lend { tenant in
            for _ in 1...3 { #expect(try await tenant.attempt(Self.keys(1)) == nil) }
            #expect(try await tenant.attempt(Self.keys(2)) == nil)
            try await tenant.store.forgiveAttempt(Self.keys(2), of: tenant.application)
            #expect(try await tenant.failures(of: Self.key(1)) == "3 3")
            #expect(try await tenant.failures(of: Self.key(2)) == nil)
            #expect(try await tenant.failures(of: Self.key(200)) == "3 3")

            try await tenant.database.psql("update \(Tenant.schema).attempts set failures = 310")
            #expect(try await tenant.attempt(Self.keys(2)) == nil)
            try await tenant.store.forgiveAttempt(Self.keys(2), of: tenant.application)
            #expect(try await tenant.attempt(Self.keys(3)) != nil)
        }
    }

    @Test("a source that has to wait adds nothing to a login")
    func source() async throws {
        try await Tenant.lend { tenant in
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            try await tenant.database.psql(
                "update \(Tenant.schema).attempts set blocked_until = now() + interval '9 s' where recent = 1 and key = '\\x\(String(repeating: "c8", count: 32))'"
            )
            #expect(try await tenant.attempt(Self.keys(1)) != nil)
            #expect(try await tenant.failures(of: Self.key(1)) == "1 1")
            #expect(try await tenant.attempt(Self.keys(1, from: 201)) == nil, "from elsewhere")
        }
    }

    @Test("a login that has to wait uses up nothing that its source has")
    func account() async throws {
        try await Tenant.lend { tenant in
            for _ in 1...5 { #expect(try await tenant.attempt(Self.keys(1)) == nil) }
            for _ in 1...20 { #expect(try await tenant.attempt(Self.keys(1)) != nil) }
            let ofSource = try await tenant.failures(of: Self.key(200))
            #expect(ofSource == "5 5")
            #expect(try await tenant.attempt(Self.keys(2)) == nil)
            #expect(try await tenant.failures(of: Self.key(200)) == "6 6")
        }
    }

    @Test("what was never tried is taken back, and what is long over is forgotten")
    func takenBack() async throws {
        try await Tenant.lend { tenant in
            for _ in 1...2 { #expect(try await tenant.attempt(Self.keys(1)) == nil) }
            try await tenant.store.withdrawAttempt(for: Self.keys(1).counts(by: Lockout()), of: tenant.application)
            #expect(try await tenant.failures(of: Self.key(1)) == "1 1")
            #expect(try await tenant.failures(of: Self.key(200)) == "1 1")
            try await tenant.database.psql(
                "update \(Tenant.schema).attempts set failures = 30, last = now() - interval '25 hours'"
            )
            #expect(try await tenant.attempt(Self.keys(1)) == nil)
            #expect(try await tenant.failures(of: Self.key(1)) == "1 2")
            try await tenant.database.psql("update \(Tenant.schema).attempts set last = now() - interval '25 hours'")
            #expect(try await tenant.store.purge(.attempts, of: tenant.application, limit: 10) == 2)
        }
    }
}

extension Tenant {
    fileprivate func attempt(_ keys: AttemptKeys) async throws -> Int? {
        try await store.countAttempt(for: keys.counts(by: application.settings.lockout), of: application)?.seconds
    }

    fileprivate func letWaitsPass() async throws {
        try await database.psql("update \(Self.schema).attempts set blocked_until = now() where blocked_until > now()")
    }

    /// Returns the failures in a row and those within the hour; nil for a key without failures.
    fileprivate func failures(of key: [UInt8]) async throws -> String? {
        let hex = key.map { String($0, radix: 16) }.map { $0.count == 1 ? "0" + $0 : $0 }.joined()
        return try await database.psql(
            "select failures || ' ' || recent from \(Self.schema).attempts where key = '\\x\(hex)'"
        ).first?.first ?? nil
    }
}
