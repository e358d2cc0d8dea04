import Domain
@testable import Store
import Testing

@Suite("Logins that open a family of refresh tokens")
struct RefreshFamilyTests {
    private static func statement(of tenant: Tenant, refusesUnknown: Bool = false) -> LoginStatement {
        LoginStatement(application: tenant.application, provider: .facebook, tokens: nil, targets: [])
            .variant(.init(.repeated, opensRefreshFamily: true, refusesUnknown: refusesUnknown))
    }

    private static func secret() -> NewRefreshSecret {
        NewRefreshSecret(family: Array(Tenant.randomHash().prefix(16)), hash: Tenant.randomHash())
    }

    @Test("the returned session is the stored one, for a new user and a known one, and its token refreshes")
    func session() async throws {
        try await Tenant.lend { tenant in
            let (store, application) = (tenant.store, tenant.application)
            for refusesUnknown in [false, true] {
                let (hash, secret) = (Tenant.randomHash(), Self.secret())
                let written = try await store.login(
                    try tenant.write("1001", [], hash: hash, refreshToken: secret),
                    by: Self.statement(of: tenant, refusesUnknown: refusesUnknown),
                    deadline: .now + .seconds(5)
                ).get()
                #expect(written.created == !refusesUnknown)
                let session = try #require(written.session)
                let stored = try await store.sessionFacts(of: SessionKey(hash: hash), in: application).get()
                #expect(String(describing: session) == String(describing: try #require(stored)))
                #expect(session.account.identities.map(\.subject.text) == ["1001"])
                let used = try await store.useRefreshToken(
                    secret,
                    successor: Tenant.randomHash(),
                    nonce: [1],
                    in: application
                ).get()
                guard case .rotated(let facts) = used else {
                    Issue.record("\(used)")
                    continue
                }
                #expect(facts.key.hash == hash)
            }
        }
    }

    @Test("the variant for known identities refuses an unknown one, and writes nothing")
    func unknown() async throws {
        try await Tenant.lend { tenant in
            let write = try tenant.write("1001", [], refreshToken: Self.secret())
            // Clients log the user out if a banned identity is called disabled, although no user has it.
            for isBanned in [false, true] {
                if isBanned { try await tenant.ban("1001") }
                let refusal = await #expect(throws: Failure.self) {
                    try await tenant.store.login(
                        write,
                        by: Self.statement(of: tenant, refusesUnknown: true),
                        deadline: .now + .seconds(5)
                    )
                }
                #expect(refusal?.reason == .loginUnknown)
            }
            #expect(try await tenant.store.isKnown(write.verified.identity, in: tenant.application) == false)
        }
    }
}
