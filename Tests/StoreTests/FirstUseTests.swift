@testable import Store
import Testing
import TestSupport

@Suite("What is taken once, and what is noted for a while")
struct FirstUseTests {
    private func hash(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

    @Test("T-60: of many uses of one code at once one is the first; a state of the same hash is another thing")
    func once() async throws {
        try await Tenant.lend { tenant in
            let (store, application) = (tenant.store, tenant.application)
            let code = hash(1)
            let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await store.use(.code, hash: code, seconds: 60, of: application) }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(firsts == 1)
            #expect(try await store.use(.state, hash: code, seconds: 60, of: application))
            #expect(try await store.use(.code, hash: hash(2), seconds: 60, of: application))
        }
    }

    @Test("a forgotten challenge is known until its time is over, and noting it again begins the time anew")
    func lostChallenge() async throws {
        try await Tenant.lend { tenant in
            func until(_ byte: UInt8) async throws -> Int64? {
                try await tenant.store.lostChallenge(of: hash(byte), in: tenant.application.place)
            }
            #expect(try await until(1) == nil)
            try await tenant.store.noteLostChallenge(of: hash(1), seconds: 60, in: tenant.application)
            let first = try #require(try await until(1))
            #expect(try await until(2) == nil, "another app's")
            try await tenant.store.noteLostChallenge(of: hash(1), seconds: 600, in: tenant.application)
            let second = try #require(try await until(1))
            #expect(second - first >= 500_000)
            try await tenant.database.psql("update \(Tenant.schema).single_use set expires = now()")
            #expect(try await until(1) == nil)
        }
    }
}
