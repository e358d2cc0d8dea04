import Domain
import Store
import Testing
import TestSupport

@Suite("Identities that are linked to a user")
struct LinkTargetTests {
    @Test("a session that ends while an identity is being linked does not come back, and nothing is linked by it")
    func endedMeanwhile() async throws {
        try await Tenant.lend { tenant in
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: []
            )
            let hash = Tenant.randomHash()
            let user = try await tenant.login("1", writing: nil, to: "nick", .always, hash: hash).user.objectID
            try await tenant.database.psql("update \(Tenant.schema).identities set provider = 'twitter'")

            try await tenant.whileWaiting(
                behind: "delete from \(Tenant.schema).sessions where object_id = '\(user)'"
            ) {
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.store.login(
                        try tenant.write("2", [], hash: hash),
                        by: statement,
                        linking: .session(tokenHash: hash, authenticatedWithin: 300)
                    ).get()
                }
                #expect(failure?.reason == .sessionInvalid)
            }
            #expect(try await tenant.count("sessions") == "0")
            #expect(try await tenant.count("identities") == "1")
        }
    }
}
