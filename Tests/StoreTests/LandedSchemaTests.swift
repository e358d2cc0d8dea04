import Description
import Domain
import Encodings
import Store
import Testing
import TestSupport

/// Tests of migrations from earlier versions of schema.sql; the folder `Schemas` has the last text of each.
@Suite("Migrations from what has landed")
struct LandedSchemaTests {
    private static let landed = 1...16

    /// Returns SQL for the rows that an operator and a login have written in that version.
    private static func rows(ofVersion version: Int) -> String {
        let provider =
            version < 4
            ? """
            insert into federation.provider_settings (application_id, provider, enabled, graph_version, proof)
                values ('old', 'facebook', true, 'v24.0', 'classic');
            """
            : """
            insert into federation.provider_settings (application_id, provider, enabled, options)
                values ('old', 'facebook', true, '{"graphVersion": "v24.0", "proof": "classic"}');
            """
        return """
            insert into federation.applications (id, name, schema_name) values ('old', 'Old', 'old one');
            select federation.create_application_schema('old one');
            \(provider)
            insert into federation.provider_apps (application_id, provider, app_id, position, secret, secret_key_id)
                values ('old', 'facebook', '42', 0, 'x', 'key');
            insert into "old one".users (object_id, email) values (gen_random_uuid(), 'a@example.com');
            insert into "old one".identities (provider, provider_app, subject, object_id)
                select 'facebook', '42', '1001', object_id from "old one".users;
            """
    }

    @Test("what is read here is every version but the newest")
    func versions() async throws {
        try await Tenant.lend { tenant in
            #expect(Self.landed.upperBound + 1 == Store.expectedSchemaVersion)
        }
    }

    @Test("a database of every version becomes what a new one is, and keeps what it holds", arguments: landed)
    func upgrade(from version: Int) async throws {
        let new = try await withDatabase(.schema) { database in try await database.psql(SchemaTests.dump) }
        try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("Tests/StoreTests/Schemas/\(version).sql"))
            try await database.psql(Self.rows(ofVersion: version))
            try await withStore(database.url) { store in
                #expect(try await store.schemaVersion() == version)
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
                #expect(try await database.psql(SchemaTests.dump) == new)
                try await database.psql("select federation.create_application_schema('new one')")
                #expect(
                    try await database.psql(SchemaTests.dump(ofApplication: "old one"))
                        == database.psql(SchemaTests.dump(ofApplication: "new one"))
                )
                let stored = try await store.configuration(changedAfter: 0).changed.first
                #expect(stored?.providerKinds == [.facebook: .facebook])
                let provider = stored?.providers[.facebook]
                #expect(provider?.kind == .facebook && provider?.enabled == true)
                #expect(provider?.options.object?["graphVersion"] == .string("v24.0"))
                #expect(provider?.apps.map(\.id.text) == ["42"])
            }
            let kept = try await database.psql(
                "select email, provider, provider_app, subject from \"old one\".users join \"old one\".identities using (object_id)"
            )
            #expect(kept == [["a@example.com", "facebook", "42", "1001"]])
        }
    }

    @Test(
        "settings of version 14 keep their values under the present names, also where a program of before writes again"
    )
    func renamedSettings() async throws {
        let former = """
            {"mostSessions": 3, "excessLogins": "refuse", "lock": {"failures": 7, "seconds": 60}, "banDays": 9,
             "tellUnknownLogins": true, "clientKeys": ["findByRole"], "passwords": {"fewestCharacters": 20},
             "registration": {"enabled": true, "mostPerHour": 5, "mostPerHourInAll": 50},
             "secondFactor": {"vouchingProviders": ["staff"],
                              "sms": {"mostPerNumber": 1, "mostPerSource": 2, "mostPerDay": 3}}}
            """
        let present = """
            {"maxSessions": 3, "sessionLimitBehavior": "refuse", "lockout": {"failures": 7, "seconds": 60}, "banDays": 9,
             "allowAccountEnumeration": true, "apiKeyRights": ["findByRole"], "passwords": {"minLength": 20},
             "registration": {"enabled": true, "maxPerSourcePerHour": 5, "maxPerHour": 50},
             "secondFactor": {"exemptProviders": ["staff"],
                              "sms": {"maxPerNumberPerDay": 1, "maxPerSourcePerHour": 2, "maxPerDay": 3}}}
            """
        try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("Tests/StoreTests/Schemas/14.sql"))
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name, settings)
                values ('old', 'Old', 'old one', '\(former)'), ('new', 'New', 'new one', '{}')
                """
            )
            let refused = try Self.problems(of: former)
            #expect(refused.count == 12 && refused.allSatisfy { $0.contains("is now called ") }, "\(refused)")
            #expect(try Self.problems(of: present) == [])
            try await withStore(database.url) { store in
                try await store.migrate()
                let differing = "select id from federation.applications where id = 'old' and settings <> '\(present)'"
                #expect(try await database.psql(differing) == [])
                try await database.psql(
                    "update federation.applications set settings = settings || '{\"mostSessions\": 4}' where id = 'old'"
                )
                try await store.migrate()
                #expect(try await database.psql(differing) == [])
                let new = "select settings from federation.applications where id = 'new'"
                #expect(try await database.psql(new) == [["{}"]])
            }
        }
    }

    /// Returns the problems that a document with these settings has.
    private static func problems(of settings: String) throws -> [String] {
        var problems = DocumentProblems()
        let value = try JSONParser.parse(Array(settings.utf8), limits: .stored)
        _ = ApplicationSettings.description.read(value, at: JSONPointer(), problems: &problems)
        return problems.lines
    }

    @Test("an end of access from before counts on, and instances of before go on noting ends")
    func endedAccess() async throws {
        try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("Tests/StoreTests/Schemas/5.sql"))
            let old = "select federation.identity_hash('42', '1001')"
            let before = try await database.psql(old)
            try await withStore(database.url) { try await $0.migrate() }
            #expect(try await database.psql(old) == before)
            #expect(try await database.psql("select federation.identity_hash('facebook', '42', '1001')") == before)
        }
    }
}

@Suite("Identities of every provider")
struct WideIdentityTests {
    @Test("no two identities have one hash")
    func hashes() async throws {
        try await withDatabase(.schema) { database in
            let identities = [
                ("facebook", "b", "c/d"), ("facebook", "b/c", "d"), ("facebook", "a/b", "c"), ("a", "b", "c"),
                ("a", "b", "c/d"), ("a", "b/c", "d"), ("a", "b", "c%2Fd"), ("facebook", "a", "b/c"), ("b", "a", "b/c"),
            ]
            let rows = identities.map { "('\($0.0)', '\($0.1)', '\($0.2)')" }.joined(separator: ", ")
            let hashes = try await database.psql(
                """
                select count(distinct federation.identity_hash(provider, app, subject))
                from (values \(rows)) i (provider, app, subject)
                """
            )
            #expect(hashes == [[String(identities.count)]])
        }
    }

    @Test("a provider has a name of the operator's, a kind, and apps whose ids are those of OpenID Connect")
    func providers() async throws {
        try await Tenant.lend { tenant in
            let (name, kind) = (ProviderName(known: "staff-sso"), ProviderName(known: "oidc"))
            let apps = try [
                "407408718192.apps.googleusercontent.com", "https://sso.example.com/a:b",
                String(repeating: "a", count: 255),
            ].map { try #require(ProviderAppID($0)) }
            let secret = EncryptedSecret(bytes: [1], keyID: "key")
            let changed = try await tenant.change(
                .setProvider(name, kind: kind, enabled: true, options: .object([:])),
                .setProviderApps(name, apps.map { .init(id: $0, secret: secret) })
            )
            let provider = try #require(changed?.providers[name])
            #expect(provider.kind == kind)
            #expect(provider.apps.map(\.id) == apps)
            let again = try await tenant.change(
                .setProvider(name, kind: name, enabled: false, options: .object([:]))
            )
            #expect(again?.providers[name]?.kind == name)
            #expect(await tenant.refusal(.setProvider(.password, kind: kind, enabled: true, options: .null)) != nil)
        }
    }

    @Test("a person of a provider with long and odd ids logs in, is revoked, erased and banned as everybody")
    func life() async throws {
        try await Tenant.lend { tenant in
            let identity = IdentityKey(
                provider: ProviderName(known: "staff-sso"),
                app: try #require(ProviderAppID("https://sso.example.com/")),
                subject: try #require(Subject("o'neil\\/\"%$1|" + String(repeating: "~", count: 240)))
            )
            let tenant = tenant.keepingTokens()
            let user = try await tenant.login(as: identity, token: "abc").user.objectID
            #expect(try await tenant.login(as: identity, token: "abc").user.objectID == user)
            let kept = try #require(try await tenant.store.keptIdentities(of: user, in: tenant.application).first)
            #expect(kept.key == identity)
            #expect(try await tenant.store.noteStanding(.good, of: kept, in: tenant.application))

            // The identity of the same app and subject at Facebook belongs to another user.
            let other = IdentityKey(provider: .facebook, app: identity.app, subject: identity.subject)
            #expect(try await tenant.login(as: other, token: "def").user.objectID != user)
            let revocation = IdentityRevocation(
                of: identity,
                .token(kept.token),
                by: "check",
                endsSessions: true
            )
            let revoked = try await tenant.store.revoke(revocation, of: tenant.application, by: Tenant.actor)
            #expect(revoked?.user == user && revoked?.sessionsEnded == 2)
            #expect(try await tenant.count("sessions") == "1")

            try await tenant.database.psql(
                "update \(Tenant.users) set user_status = 'DISABLED' where object_id = '\(user)'"
            )
            let code = String(repeating: "A", count: 26)
            let request = NewDeletionRequest(
                code: code,
                hash: Tenant.randomHash(),
                call: Tenant.randomHash(),
                identity: identity,
                issued: Tenant.now,
                days: 0
            )
            _ = try await tenant.store.openDeletions([request], of: tenant.application)
            let erasure = try await tenant.store.erase(
                code: code,
                of: tenant.application,
                banningBy: Tenant.hash,
                by: Tenant.actor
            )
            guard case .user(user, _) = erasure else {
                Issue.record("the user is not erased")
                return
            }
            let refused = await #expect(throws: Failure.self) { try await tenant.login(as: identity, token: "abc") }
            #expect(refused?.reason == .accountDisabled)
            #expect(try await tenant.count("users") == "1")
        }
    }
}

extension Tenant {
    /// Logs in an identity with a token.
    fileprivate func login(as identity: IdentityKey, token: String) async throws -> WrittenLogin {
        let encrypted = EncryptedToken(
            kind: .access,
            secret: EncryptedSecret(bytes: Array(token.utf8), keyID: "key"),
            expiresAt: nil
        )
        return try await store.login(
            write(as: identity, [], token: encrypted),
            by: LoginStatement(application: application, provider: identity.provider, tokens: .asItIs, targets: []),
            deadline: .now + .seconds(5)
        ).get()
    }
}
