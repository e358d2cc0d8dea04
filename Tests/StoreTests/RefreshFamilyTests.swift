import Domain
import FoundationEssentials
@testable import Store
import Testing
import TestSupport

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
            for refusesUnknown in [false, true] {
                let (hash, secret) = (Tenant.randomHash(), Self.secret())
                let written = try await tenant.store.login(
                    try tenant.write("1001", [], hash: hash, refreshToken: secret),
                    by: Self.statement(of: tenant, refusesUnknown: refusesUnknown),
                    deadline: .now + .seconds(5)
                ).get()
                #expect(written.created == !refusesUnknown)
                let session = try #require(written.session)
                #expect(session.account.identities.map(\.subject.text) == ["1001"])
                try await Self.expectStored(session, hash, secret, in: tenant)
            }
        }
    }

    @Test("the same holds for a login by a password, one by a server's token, and a new guest")
    func withoutProvider() async throws {
        try await Tenant.lend { tenant in
            let (store, application) = (tenant.store, tenant.application)
            let user = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(user)', 'ann@example.com', '\\x010203', 'key')
                """
            )
            let password = SessionOpening.Grounds.password(EncryptedSecret(bytes: [1, 2, 3], keyID: "key"))
            for grounds in [password, .serverToken(claims: #"{"plan": "gold"}"#)] {
                let (hash, secret) = (Tenant.randomHash(), Self.secret())
                let opening = SessionOpening(
                    user: user,
                    grounds: grounds,
                    login: "ann@example.com",
                    tokenHash: hash,
                    previousTokenHash: nil,
                    refreshToken: secret
                )
                let opened = try #require(try await store.openSession(opening, of: application).get())
                #expect(opened.user.objectID == user)
                try await Self.expectStored(try #require(opened.facts), hash, secret, in: tenant)
            }
            let (id, hash, secret) = (ObjectID(UUID()), Tenant.randomHash(), Self.secret())
            let guest = try await store.makeGuest(id, tokenHash: hash, refreshToken: secret, of: application).get()
            #expect(guest.user.objectID == id)
            try await Self.expectStored(try #require(guest.facts), hash, secret, in: tenant)
        }
    }

    /// Expects that a session is the stored one, and that its refresh token works.
    private static func expectStored(
        _ session: SessionFacts,
        _ hash: [UInt8],
        _ secret: NewRefreshSecret,
        in tenant: Tenant
    ) async throws {
        let (store, application) = (tenant.store, tenant.application)
        let stored = try await store.sessionFacts(of: SessionKey(hash: hash), in: application).get()
        #expect(String(describing: session) == String(describing: try #require(stored)))
        let successor = Tenant.randomHash()
        let used = try await store.useRefreshToken(secret, successor: successor, nonce: [1], in: application).get()
        guard case .rotated(let facts) = used else {
            Issue.record("\(used)")
            return
        }
        #expect(facts.key.hash == hash)
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
