import Store
import TestSupport
import Testing
import Vocabulary

@Suite("Where the last login wins")
struct LastLoginWinsTests {
    private func lend(_ body: @Sendable @escaping (Tenant, SignInStatement) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            var settings = ApplicationSettings()
            settings.multipleLogins = false
            let application = Application(
                id: tenant.application.id,
                name: tenant.application.name,
                schema: tenant.application.schema,
                revision: 1,
                settings: settings,
                properties: tenant.application.properties
            )
            try await body(
                tenant,
                SignInStatement(application: application, provider: .facebook, tokens: nil, targets: [])
            )
        }
    }

    @Test("a login ends every other session of the user and of nobody else")
    func endsOthers() async throws {
        try await lend { tenant, statement in
            func signIn(_ subject: String) async throws -> [UInt8] {
                let hash = Tenant.randomHash()
                let write = try tenant.write(subject, [], hash: hash)
                _ = try await tenant.store.signIn(write, by: statement, deadline: .now + .seconds(5)).get()
                return hash
            }
            let stranger = try await signIn("2")
            let (first, second) = (try await signIn("1"), try await signIn("1"))
            #expect(try await tenant.store.sessionUser(tokenHash: first, of: tenant.application).get() == nil)
            #expect(try await tenant.store.sessionUser(tokenHash: second, of: tenant.application).get() != nil)
            #expect(try await tenant.store.sessionUser(tokenHash: stranger, of: tenant.application).get() != nil)
        }
    }

    @Test("of eight simultaneous logins, the first ones or later ones, one session is left")
    func races() async throws {
        try await lend { tenant, statement in
            for round in 0..<20 {
                let subject = String(3000 + round / 2)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        let write = try tenant.write(subject, [])
                        group.addTask {
                            _ = try await tenant.store.signIn(write, by: statement, deadline: .now + .seconds(5)).get()
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await tenant.count("sessions") == String(round / 2 + 1))
            }
        }
    }
}
