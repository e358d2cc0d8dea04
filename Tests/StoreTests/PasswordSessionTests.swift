import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Sessions by a password")
struct PasswordSessionTests {
    private static let hash = EncryptedSecret(bytes: [1, 2, 3], keyID: "key")

    /// Lends a tenant with one user who has a password.
    private func lend(
        multipleLogins: Bool = true,
        _ body: (_ tenant: Tenant, _ user: ObjectID) async throws -> Void
    ) async throws {
        try await Tenant.lend { tenant in
            var tenant = tenant
            tenant.application.settings.multipleLogins = multipleLogins
            let user = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(user)', 'ann@example.com', '\\x010203', 'key')
                """
            )
            try await body(tenant, user)
        }
    }

    private func session(
        _ user: ObjectID,
        hash: EncryptedSecret = hash,
        login: String = "ann@example.com",
        token: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil,
        once: SingleUse? = nil
    ) -> SessionOpening {
        SessionOpening(
            user: user,
            grounds: .password(hash),
            login: login,
            tokenHash: token,
            previousTokenHash: previous,
            once: once
        )
    }

    @Test("are opened for the hash that is stored, and for no other")
    func hash() async throws {
        try await lend { tenant, user in
            let former = EncryptedSecret(bytes: [1, 2], keyID: "key")
            let stale = try await tenant.store.openSession(session(user, hash: former), of: tenant.application)
                .get()
            #expect(stale == nil)
            let renamed = session(user, login: "bob@example.com")
            #expect(try await tenant.store.openSession(renamed, of: tenant.application).get() == nil)
            #expect(try await tenant.count("sessions") == "1", "that of the first login")
            let opened = try await tenant.store.openSession(session(user), of: tenant.application).get()
            #expect(opened?.user.objectID == user)
            #expect(opened?.user.lastLogin != nil && opened?.facts == nil)
            let row = try await tenant.database.psql(
                """
                select provider, provider_app, subject, proved = created from \(Tenant.schema).sessions
                where provider = 'password'
                """
            )
            #expect(row == [["password", "", "ann@example.com", "t"]])
        }
    }

    @Test(
        "tell those who know the password why they are not let in",
        arguments: [("DISABLED", Failure.Reason.accountDisabled), ("EMAIL_CONFIRMATION_PENDING", .emailUnconfirmed)]
    )
    func status(status: String, reason: Failure.Reason) async throws {
        try await lend { tenant, user in
            try await tenant.database.psql("update \(Tenant.users) set user_status = '\(status)', last_login = null")
            let failure = await #expect(throws: Failure.self) {
                try await tenant.store.openSession(session(user), of: tenant.application).get()
            }
            #expect(failure?.reason == reason)
            #expect(try await tenant.count("sessions") == "1")
            let touched = "select count(*) from \(Tenant.users) where last_login is not null"
            #expect(try await tenant.database.psql(touched) == [["0"]])
        }
    }

    @Test("T-65: end the one that the client had, or all others where the last login wins")
    func previous() async throws {
        try await lend { tenant, user in
            let first = Tenant.randomHash()
            _ = try await tenant.store.openSession(session(user, token: first), of: tenant.application).get()
            _ = try await tenant.store.openSession(session(user, previous: first), of: tenant.application).get()
            #expect(try await tenant.count("sessions") == "2")
        }
        try await lend(multipleLogins: false) { tenant, user in
            for _ in 1...3 {
                _ = try await tenant.store.openSession(session(user), of: tenant.application).get()
            }
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test("of one user there are a thousand sessions, the newest, where the application names no number")
    func maxOverall() async throws {
        try await lend { tenant, user in
            let hash = Tenant.randomHash()
            _ = try await tenant.store.openSession(session(user, token: hash), of: tenant.application).get()
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).sessions (token_hash, object_id, created, expires, provider, provider_app, subject)
                select sha256(n::text::bytea), '\(user)', now() - make_interval(secs => n), now() + interval '1 day',
                    'password', '', 'ann@example.com'
                from generate_series(1, 1500) n
                """
            )
            let last = Tenant.randomHash()
            _ = try await tenant.store.openSession(session(user, token: last), of: tenant.application).get()
            #expect(try await tenant.count("sessions") == "1000")
            for hash in [hash, last] {
                #expect(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() != nil)
            }
            let oldest = "select ceil(extract(epoch from now() - min(created))) < 1010 from \(Tenant.schema).sessions"
            #expect(try await tenant.database.psql(oldest) == [["t"]])

            // A user of Facebook with the same sessions, whose login is repeated with the same token.
            let again = Tenant.randomHash()
            let person = try await tenant.login(writing: nil, to: "nick", .always, hash: again).user.objectID
            try await tenant.database.psql(
                "update \(Tenant.schema).sessions set object_id = '\(person)' where object_id = '\(user)'"
            )
            for _ in 1...3 { _ = try await tenant.login(writing: nil, to: "nick", .always, hash: again) }
            #expect(try await tenant.count("sessions") == "1000")
        }
    }

    @Test("a mailed link opens one, or asks for a second factor once", arguments: [false, true])
    func link(needsFactor: Bool) async throws {
        try await lend { tenant, user in
            var application = tenant.application
            if needsFactor { application.settings.secondFactor.demand = .required }
            let link = Tenant.randomHash()
            let first = await refusal(of: link, user, by: tenant.store, in: application)
            #expect(first == (needsFactor ? .secondFactorEnrolmentRequired : nil))
            let second = await refusal(of: link, user, by: tenant.store, in: application)
            #expect(second == .linkInvalid)
            let sessions = try await tenant.count("sessions")
            #expect(sessions == (needsFactor ? "1" : "2"), "with that of the first login")
        }
    }

    /// Uses a mailed link for a login, and returns the reason for which the login was refused; nil if it was not.
    private func refusal(
        of link: [UInt8],
        _ user: ObjectID,
        by store: Store,
        in application: Application
    ) async -> Failure.Reason? {
        let owner = Tenant.randomHash()
        let once = SingleUse(hash: link, issuedAt: 0, seconds: 3600, owner: owner, nonceHash: nil)
        do throws(Failure) {
            _ = try await store.openSession(session(user, once: once), of: application).get()
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("a login that waits for a change of the password opens nothing by the former one")
    func race() async throws {
        try await lend { tenant, user in
            try await tenant.whileWaiting(for: user, "update \(Tenant.schema).passwords set hash = '\\x0909'") {
                let opened = try await tenant.store.openSession(session(user), of: tenant.application).get()
                #expect(opened == nil)
            }
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test(
        "who ends the other sessions waits for the user before any session is touched, as everybody who ends several does"
    )
    func order() async throws {
        try await Tenant.lend { tenant in
            var hashes: [[UInt8]] = []
            var user: ObjectID?
            for _ in 1...3 {
                hashes.append(Tenant.randomHash())
                user = try await tenant.login(writing: nil, to: "nick", .always, hash: hashes.last ?? []).user.objectID
            }
            let (id, mine) = (try #require(user), hashes[0])
            try await tenant.whileWaiting(for: id, "select 1") {
                let ended = try await tenant.store.endOtherSessions(of: id, keeping: mine, in: tenant.application)
                #expect(ended == 2)
            }
            #expect(try await tenant.count("sessions") == "1")
        }
    }
}
