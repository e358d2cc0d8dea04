import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

@Suite("Writing what users give")
struct UserWriteTests {
    private func password(_ login: String, of id: ObjectID = ObjectID(UUID())) -> StoredPassword {
        StoredPassword(objectID: id, login: login, hash: EncryptedSecret(bytes: [1, 2, 3], keyID: "key"))
    }

    private func given(_ tenant: Tenant, _ values: [(String, PropertyValue?)]) throws -> GivenProperties {
        var given = GivenProperties()
        for (name, value) in values {
            let property = try #require(tenant.application.properties.first { $0.name.text == name })
            given.values.append((property, value))
        }
        return given
    }

    private func session(_ tenant: Tenant, of user: ObjectID) async throws -> [UInt8] {
        let hash = Tenant.randomHash()
        let text = hash.map { String($0, radix: 16).count == 1 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
            .joined()
        try await tenant.database.psql(
            """
            insert into \(Tenant.schema).sessions (token_hash, object_id, expires)
            values ('\\x\(text)', '\(user)', now() + interval '1 hour')
            """
        )
        return hash
    }

    @Test("a registration makes a user with every type of property, and leaves what is not given to the table")
    func registration() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("alter table \(Tenant.users) alter column ratio set default 0.5")
            var given = try given(
                tenant,
                [
                    ("email", .text("ann@example.com")), ("nick", .text("A")), ("points", .integer(7)),
                    ("member", .boolean(true)),
                    ("birthday", CalendarDate(year: 1990, month: 5, day: 6).map(PropertyValue.date)),
                    ("seen", .dateTime(1_700_000_123_456)), ("extra", .json(.array([.null]))), ("name", nil),
                ]
            )
            given.dynamic.append("shoe", .integer(42))
            given.dynamic.append("none", .null)
            given.locale = .value("en")
            let write = RegistrationWrite(password: password("ann@example.com"), status: .enabled, given: given)
            let user = try #require(try await tenant.store.register(write, of: tenant.application).get())
            #expect(user.value("points") == .integer(7) && user.value("member") == .boolean(true))
            #expect(user.value("seen") == .dateTime(1_700_000_123_456) && user.value("extra") == .json(.array([.null])))
            #expect(user.value("ratio") == .double(0.5), "what the table says")
            #expect(user.dynamic == ["shoe": .integer(42)])
            #expect(
                user.locale == "en" && user.socialAccount == "BACKENDLESS" && user.lastLogin == nil
                    && user.updated == nil
            )
            #expect(try await tenant.store.register(write, of: tenant.application).get() == nil, "the login is taken")
            #expect(try await tenant.count("users") == "1")
        }
    }

    @Test("of many registrations of one login at once one makes a user")
    func race() async throws {
        try await Tenant.lend { tenant in
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<16 {
                    let write = RegistrationWrite(
                        password: password("ann@example.com"),
                        status: .enabled,
                        given: GivenProperties()
                    )
                    group.addTask { try await tenant.store.register(write, of: tenant.application).get() != nil }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(made == 1)
            #expect(try await tenant.count("users") == "1")
        }
    }

    @Test("a required property that is missing is named, and nothing is written")
    func required() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("alter table \(Tenant.users) alter column nick set not null")
            let write = RegistrationWrite(
                password: password("ann@example.com"),
                status: .enabled,
                given: GivenProperties()
            )
            let failure = await #expect(throws: Failure.self) {
                try await tenant.store.register(write, of: tenant.application).get()
            }
            #expect(failure?.reason == .propertyMissing && failure?.details["property"]?.string == "nick")
            #expect(try await tenant.count("passwords") == "0")
        }
    }

    @Test("an update writes what is given, notes when, and only when something has become another")
    func update() async throws {
        try await Tenant.lend { tenant in
            let id = ObjectID(UUID())
            let write = RegistrationWrite(
                password: password("ann@example.com", of: id),
                status: .enabled,
                given: try given(tenant, [("email", .text("ann@example.com")), ("nick", .text("A"))])
            )
            _ = try await tenant.store.register(write, of: tenant.application).get()
            let hash = try await session(tenant, of: id)
            func update(_ given: GivenProperties, _ login: UserUpdate.LoginChange? = nil) async throws -> User {
                try await tenant.store.update(
                    UserUpdate(id: id, given: given, login: login),
                    by: .session(hash, factorWithin: nil),
                    of: tenant.application
                ).get()
            }
            #expect(try await update(GivenProperties()).updated == nil, "nothing is given")
            #expect(try await update(try given(tenant, [("nick", .text("A"))])).updated == nil)
            var change = try given(tenant, [("nick", nil), ("points", .integer(1))])
            change.dynamic = ["shoe": .integer(42)]
            let changed = try await update(change)
            #expect(changed.value("nick") == nil && changed.value("points") == .integer(1))
            #expect(changed.dynamic == ["shoe": .integer(42)] && changed.updated != nil)
            change.dynamic = ["shoe": .null, "other": .integer(1)]
            #expect(try await update(change).dynamic == ["other": .integer(1)])

            change.dynamic = ["other": .string(String(repeating: "x", count: 70_000))]
            let tooLarge = await #expect(throws: Failure.self) { try await update(change) }
            #expect(tooLarge?.reason == .payloadTooLarge)
            #expect(try await update(GivenProperties()).dynamic == ["other": .integer(1)], "nothing is half written")

            // The password that allowed the change is no longer the current one.
            let outdated = UserUpdate.LoginChange(
                login: "new@example.com",
                password: nil,
                formerHash: EncryptedSecret(bytes: [9], keyID: "key")
            )
            let refused = await #expect(throws: Failure.self) { try await update(GivenProperties(), outdated) }
            #expect(refused?.reason == .conflict)
        }
    }

    @Test("a session that has ended, or is another user's, changes nothing")
    func deadSession() async throws {
        try await Tenant.lend { tenant in
            let (ann, bea) = (ObjectID(UUID()), ObjectID(UUID()))
            for (id, login) in [(ann, "ann@example.com"), (bea, "bea@example.com")] {
                let write = RegistrationWrite(
                    password: password(login, of: id),
                    status: .enabled,
                    given: GivenProperties()
                )
                _ = try await tenant.store.register(write, of: tenant.application).get()
            }
            let hash = try await session(tenant, of: bea)
            for token in [hash, Tenant.randomHash()] {
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.store.update(
                        UserUpdate(id: ann, given: try given(tenant, [("nick", .text("x"))]), login: nil),
                        by: .session(token, factorWithin: nil),
                        of: tenant.application
                    ).get()
                }
                #expect(failure?.reason == .sessionInvalid)
            }
        }
    }

    @Test("of two conversions of one guest at once one makes the account")
    func guest() async throws {
        try await Tenant.lend { tenant in
            let (id, hash) = (ObjectID(UUID()), Tenant.randomHash())
            let guest = try await tenant.store.makeGuest(id, tokenHash: hash, of: tenant.application).get()
            #expect(guest.user.status == .guest && guest.user.lastLogin != nil)
            let outcomes = await withTaskGroup(of: Failure.Reason?.self) { group in
                for login in ["ann@example.com", "bea@example.com"] {
                    let write = RegistrationWrite(
                        password: password(login, of: id),
                        status: .enabled,
                        given: GivenProperties()
                    )
                    group.addTask {
                        do {
                            _ = try await tenant.store.convertGuest(write, bySession: hash, of: tenant.application)
                                .get()
                            return nil
                        } catch {
                            return (error as? Failure)?.reason
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == .guestInvalid } == 1, "\(outcomes)")
            #expect(try await tenant.count("passwords") == "1")
            #expect(try await tenant.count("sessions") == "0")
        }
    }

    /// Registers Ann with a password, and returns the user and the stored hash.
    private func ann(_ tenant: Tenant) async throws -> (user: ObjectID, hash: EncryptedSecret) {
        let write = RegistrationWrite(
            password: password("ann@example.com"),
            status: .enabled,
            given: try given(tenant, [("email", .text("ann@example.com"))])
        )
        let user = try #require(try await tenant.store.register(write, of: tenant.application).get())
        return (user.objectID, write.password.hash)
    }

    @Test("T-33: what waited for a reset of the password finds neither the session nor the password of before")
    func staleSession() async throws {
        try await Tenant.lend { tenant in
            let (user, hash) = try await ann(tenant)
            let token = try await session(tenant, of: user)
            let attackers = StoredPassword(
                objectID: user,
                login: "ann@example.com",
                hash: EncryptedSecret(bytes: [6, 6, 6], keyID: "key")
            )
            let change = UserUpdate.LoginChange(
                login: "ann@example.com",
                password: attackers,
                formerHash: hash
            )
            let update = UserUpdate(id: user, given: GivenProperties(), login: change)
            try await tenant.whileWaiting(
                for: user,
                "delete from \(Tenant.schema).sessions; update \(Tenant.schema).passwords set hash = '\\x0909'"
            ) {
                let failure = await #expect(throws: Failure.self) {
                    _ = try await tenant.store.update(
                        update,
                        by: .session(token, factorWithin: nil),
                        of: tenant.application
                    ).get()
                }
                #expect(failure?.reason == .sessionInvalid)
            }
            #expect(try await tenant.database.psql("select hash from \(Tenant.schema).passwords") == [["\\x0909"]])

            // The session lives, but the password has changed.
            let other = try await session(tenant, of: user)
            let failure = await #expect(throws: Failure.self) {
                _ = try await tenant.store.update(
                    update,
                    by: .session(other, factorWithin: nil),
                    of: tenant.application
                ).get()
            }
            #expect(failure?.reason == .conflict)
        }
    }

    @Test("T-33c: an identity that is linked while the password is being reset goes with the others")
    func linkedMeanwhile() async throws {
        try await Tenant.lend { tenant in
            let user = try await ann(tenant).user
            let link = Tenant.randomHash()
            try await tenant.store.addEmailToken(
                EmailToken(user: user, email: "ann@example.com"),
                for: .passwordReset,
                tokenHash: link,
                of: tenant.application
            )
            let new = password("ann@example.com", of: user)
            try await tenant.whileWaiting(
                for: user,
                """
                insert into \(Tenant.schema).identities (provider, provider_app, subject, object_id)
                values ('facebook', '42', '666', '\(user)');
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires)
                values (sha256('x'), '\(user)', now() + interval '1 hour')
                """
            ) {
                let kept = try await tenant.store.resetPassword(
                    byLink: link,
                    for: .passwordReset,
                    to: new,
                    at: "ann@example.com",
                    keepingIdentities: false,
                    forgetting: Tenant.randomHash(),
                    showing: nil,
                    in: tenant.application
                )
                #expect(kept != nil)
            }
            for table in ["identities", "sessions", "email_proofs"] {
                #expect(try await tenant.count(table) == "0", "\(table)")
            }
        }
    }

    @Test("T-33d: an address that comes while a password is set, or the other way round, is not what it logs in by")
    func crossing() async throws {
        try await Tenant.lend { tenant in
            let user = try await ann(tenant).user
            let token = try await session(tenant, of: user)
            let first = UserUpdate.LoginChange(
                login: "ann@example.com",
                password: password("ann@example.com", of: user),
                formerHash: nil
            )
            func expectConflict(_ update: UserUpdate, _ sql: String) async throws {
                try await tenant.whileWaiting(for: user, sql) {
                    let failure = await #expect(throws: Failure.self) {
                        _ = try await tenant.store.update(
                            update,
                            by: .session(token, factorWithin: nil),
                            of: tenant.application
                        ).get()
                    }
                    #expect(failure?.reason == .conflict)
                }
            }
            try await tenant.database.psql("delete from \(Tenant.schema).passwords")
            try await expectConflict(
                UserUpdate(id: user, given: GivenProperties(), login: first),
                "update \(Tenant.users) set email = 'thief@example.com'"
            )
            #expect(try await tenant.count("passwords") == "0")
            try await expectConflict(
                UserUpdate(id: user, given: try given(tenant, [("email", .text("other@example.com"))]), login: nil),
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(user)', 'thief@example.com', '\\x01', 'key')
                """
            )
            #expect(try await tenant.database.psql("select email from \(Tenant.users)") == [["thief@example.com"]])

            // An operator's edit of the address does not prevent a change of the password.
            try await tenant.database.psql("update \(Tenant.users) set email = 'edited@example.com'")
            let second = UserUpdate.LoginChange(
                login: "thief@example.com",
                password: password("thief@example.com", of: user),
                formerHash: EncryptedSecret(bytes: [1], keyID: "key")
            )
            _ = try await tenant.store.update(
                UserUpdate(id: user, given: GivenProperties(), login: second),
                by: .session(token, factorWithin: nil),
                of: tenant.application
            ).get()
        }
    }
}
