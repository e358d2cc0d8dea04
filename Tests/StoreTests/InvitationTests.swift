import Domain
import Encodings
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Invitations")
struct InvitationTests {
    private static let password = EncryptedSecret(bytes: [1, 2, 3], keyID: "key")

    /// Lends a tenant that accepts new users by invitation.
    private func lend(
        _ rule: NewUsers = .invited,
        _ body: @Sendable @escaping (_ tenant: Tenant) async throws -> Void
    ) async throws {
        try await Tenant.lend { tenant in
            var tenant = tenant
            tenant.application.settings.newUsers = rule
            tenant.application.settings.roles = ["editors"]
            try await body(tenant)
        }
    }

    private static func invite(
        _ contact: InvitedContact,
        _ hash: [UInt8]?,
        to tenant: Tenant,
        roles: [String] = [],
        properties: JSONObject = [:],
        seconds: Int64 = 3600,
        isSent: Bool = true
    ) async throws -> StoredInvitation {
        try await tenant.store.invite(
            NewInvitation(
                id: ObjectID(UUID()),
                tokenHash: hash,
                contact: contact,
                roles: roles,
                properties: properties,
                locale: nil,
                seconds: seconds,
                mail: nil,
                isSent: isSent
            ),
            to: tenant.application,
            by: Tenant.actor
        )
    }

    private static func claim(_ hash: [UInt8]?, in tenant: Tenant) -> InvitationClaim {
        let points = tenant.application.properties.first { $0.name.text == "points" }
        return InvitationClaim(tokenHash: hash) { properties in
            var given = GivenProperties()
            if let points, let value = properties["points"]?.integer { given.values.append((points, .integer(value))) }
            return given
        }
    }

    /// Logs in with Facebook, with the claim of an invitation.
    private static func login(
        _ subject: String,
        with hash: [UInt8]?,
        in tenant: Tenant,
        once: SingleUse? = nil
    ) async throws -> WrittenLogin {
        let nick = try #require(tenant.application.properties.first { $0.name.text == "nick" })
        let statement = LoginStatement(
            application: tenant.application,
            provider: .facebook,
            tokens: nil,
            targets: [.init(name: nick.name, type: nick.type, sync: .always)],
            use: once == nil ? .repeated : .once
        )
        let write = try tenant.write(subject, [.text("Ann")], once: once, bringing: claim(hash, in: tenant))
        return try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
    }

    private static func register(
        _ email: String,
        with hash: [UInt8]?,
        status: UserStatus = .enabled,
        in tenant: Tenant
    ) async throws -> User? {
        let property = try #require(tenant.application.properties.first { $0.name == .email })
        var given = GivenProperties()
        given.values.append((property, .text(email)))
        let write = RegistrationWrite(
            password: StoredPassword(objectID: ObjectID(UUID()), login: email, hash: password),
            status: status,
            given: given,
            invitation: claim(hash, in: tenant)
        )
        return try await tenant.store.register(write, of: tenant.application).get()
    }

    private static func refusal(_ body: () async throws -> Void) async throws -> Failure.Reason? {
        do { try await body() } catch let failure as Failure { return failure.reason }
        return nil
    }

    /// Returns why the login of a subject was refused; nil when it succeeded.
    private static func refusal(
        of subject: String,
        with hash: [UInt8]?,
        in tenant: Tenant
    ) async throws -> Failure.Reason? {
        try await refusal { _ = try await login(subject, with: hash, in: tenant) }
    }

    @Test("nobody becomes a user without one; by its token somebody does, once, with its roles and properties")
    func token() async throws {
        try await lend { tenant in
            let hash = Tenant.randomHash()
            let before = try await tenant.state()
            #expect(try await Self.refusal(of: "1", with: nil, in: tenant) == .invitationRequired)
            #expect(
                try await Self.refusal(of: "1", with: hash, in: tenant) == .invitationInvalid
            )
            #expect(try await tenant.state() == before)
            let invitation = try await Self.invite(
                .email("ann@example.com"),
                hash,
                to: tenant,
                roles: ["editors", "gone"],
                properties: ["points": .integer(7)]
            )
            #expect(invitation.state == .open && invitation.sent == 1 && invitation.invitedBy == "ann")
            let made = try await Self.login("1", with: hash, in: tenant)
            #expect(made.created && made.user.value("points") == .integer(7) && made.user.value("nick") == .text("Ann"))
            #expect(!made.user.emailVerified, "a login by a provider says nothing of the address")
            let id = made.user.objectID
            #expect(try await tenant.store.roles(of: id, in: tenant.application) == ["editors"])
            let taken = try #require(try await tenant.store.invitation(invitation.id, of: tenant.application))
            #expect(taken.state == .accepted && taken.user == id)
            #expect(try await tenant.store.invitation(tokenHash: hash, of: tenant.application) == nil)
            #expect(
                try await Self.refusal(of: "2", with: hash, in: tenant) == .invitationInvalid
            )
            let again = try await Self.login("1", with: nil, in: tenant)
            #expect(again.user.objectID == id && !again.created)
            let entries = try await tenant.store.audit(
                matching: AuditFilter(action: "invitation.accept"),
                before: nil,
                limit: 10
            )
            #expect(entries.map(\.target) == [id.description])
        }
    }

    @Test("of many logins at once with one token, of as many people, one makes a user")
    func race() async throws {
        try await lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await Self.invite(.email("ann@example.com"), hash, to: tenant)
            let refusals = try await withThrowingTaskGroup(of: Failure.Reason?.self) { group in
                for number in 1...12 {
                    group.addTask {
                        try await Self.refusal(of: "\(number)", with: hash, in: tenant)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(refusals.filter { $0 == nil }.count == 1)
            #expect(refusals.filter { $0 == .invitationInvalid }.count == 11)
            #expect(try await tenant.count("users") == "1")
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test("of many logins at once of one person with one token all log in, and one uses it")
    func sameRace() async throws {
        try await lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await Self.invite(.email("ann@example.com"), hash, to: tenant)
            let made = try await withThrowingTaskGroup(of: WrittenLogin.self) { group in
                for _ in 1...8 { group.addTask { try await Self.login("1", with: hash, in: tenant) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(made.filter(\.created).count == 1 && Set(made.map(\.user.objectID)).count == 1)
            #expect(try await tenant.count("users") == "1")
        }
    }

    @Test(
        "a token that is taken back while a login waits for it is refused, and the invitation of a failed login stays"
    )
    func takenBack() async throws {
        try await lend { tenant in
            let (first, second) = (Tenant.randomHash(), Tenant.randomHash())
            let invitation = try await Self.invite(.email("ann@example.com"), first, to: tenant)
            let table = "\(Tenant.schema).invitations"
            try await tenant.whileWaiting(behind: "delete from \(table) where id = '\(invitation.id)'") {
                let refusal = try await Self.refusal(of: "1", with: first, in: tenant)
                #expect(refusal == .invitationInvalid)
            }
            #expect(try await tenant.count("users") == "0")

            _ = try await Self.invite(.email("bob@example.com"), second, to: tenant)
            try await tenant.database.psql(
                "alter table \(Tenant.users) add constraint nobody check (nick is distinct from 'Ann') not valid"
            )
            let refusal = try await Self.refusal(of: "2", with: second, in: tenant)
            #expect(refusal == .constraintViolation)
            #expect(try await tenant.store.invitation(tokenHash: second, of: tenant.application) != nil)
            try await tenant.database.psql("alter table \(Tenant.users) drop constraint nobody")
            #expect(try await Self.login("2", with: second, in: tenant).created)
        }
    }

    @Test("one that names an identity is taken by its login alone, also by a credential that counts once")
    func identity() async throws {
        try await lend { tenant in
            let key = try Tenant.key("77")
            let invitation = try await Self.invite(.identity(key), nil, to: tenant, roles: ["editors"])
            #expect(try await Self.refusal(of: "78", with: nil, in: tenant) == .invitationRequired)
            let once = SingleUse(
                hash: Tenant.randomHash(),
                issuedAt: StoreMoment(seconds: 4_000_000_000),
                seconds: 600,
                owner: Tenant.randomHash(),
                nonceHash: nil
            )
            let made = try await Self.login("77", with: nil, in: tenant, once: once)
            #expect(made.created)
            #expect(try await tenant.store.roles(of: made.user.objectID, in: tenant.application) == ["editors"])
            #expect(try await tenant.store.invitation(invitation.id, of: tenant.application)?.state == .accepted)
        }
    }

    @Test("D6: an equal address is no invitation, of a registration or of a login")
    func equalAddress() async throws {
        try await lend { tenant in
            _ = try await Self.invite(.email("ann@example.com"), Tenant.randomHash(), to: tenant)
            let refusal = try await Self.refusal {
                _ = try await Self.register("ann@example.com", with: nil, in: tenant)
            }
            #expect(refusal == .invitationRequired)
            let email = try #require(tenant.application.properties.first { $0.name == .email })
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: [.init(name: email.name, type: email.type, sync: .always)]
            )
            let write = try tenant.write("1", [.text("ann@example.com")], bringing: Self.claim(nil, in: tenant))
            let login = try await Self.refusal {
                _ = try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
            }
            #expect(login == .invitationRequired)
            #expect(try await tenant.count("users") == "0")
        }
    }

    @Test("a registration confirms the address that the link was sent to, in any letters, and no other")
    func confirmation() async throws {
        try await lend { tenant in
            let hashes = (0..<3).map { _ in Tenant.randomHash() }
            _ = try await Self.invite(.email("ann@example.com"), hashes[0], to: tenant)
            _ = try await Self.invite(.email("bob@example.com"), hashes[1], to: tenant)
            _ = try await Self.invite(.email("cleo@example.com"), hashes[2], to: tenant, isSent: false)
            let pending = UserStatus.emailConfirmationPending
            let ann = try await Self.register("Ann@Example.com", with: hashes[0], status: pending, in: tenant)
            #expect(ann?.emailVerified == true && ann?.status == .enabled)
            let bob = try await Self.register("bobby@example.com", with: hashes[1], status: pending, in: tenant)
            #expect(bob?.emailVerified == false && bob?.status == pending)
            let cleo = try await Self.register("cleo@example.com", with: hashes[2], status: pending, in: tenant)
            #expect(cleo?.emailVerified == false && cleo?.status == pending, "an operator had the link")
        }
    }

    @Test("a registration whose login is taken leaves it; guests are invited once, for all that they become")
    func guests() async throws {
        try await lend { tenant in
            let hashes = (0..<2).map { _ in Tenant.randomHash() }
            _ = try await Self.invite(.email("ann@example.com"), hashes[0], to: tenant)
            _ = try await Self.invite(.phone("+41791234567"), hashes[1], to: tenant)
            #expect(try await Self.register("ann@example.com", with: hashes[0], in: tenant) != nil)
            #expect(try await Self.register("ann@example.com", with: hashes[1], in: tenant) == nil)

            func guest(_ hash: [UInt8]?) async throws -> (ObjectID, [UInt8]) {
                let (id, session) = (ObjectID(UUID()), Tenant.randomHash())
                let claim = Self.claim(hash, in: tenant)
                _ = try await tenant.store.makeGuest(
                    id,
                    tokenHash: session,
                    invitedBy: claim,
                    of: tenant.application
                ).get()
                return (id, session)
            }
            #expect(try await Self.refusal { _ = try await guest(nil) } == .invitationRequired)
            let (id, session) = try await guest(hashes[1])
            let write = RegistrationWrite(
                password: StoredPassword(objectID: id, login: "guest", hash: Self.password),
                status: .enabled,
                given: GivenProperties(),
                invitation: Self.claim(nil, in: tenant)
            )
            let user = try await tenant.store.convertGuest(write, bySession: session, of: tenant.application).get()
            #expect(user?.status == .enabled && user?.objectID == id)
        }
    }

    @Test("a contact has one open invitation, whatever its letters; an expired one gives way; the number is bounded")
    func contacts() async throws {
        try await lend { tenant in
            let first = try await Self.invite(.email("ann@example.com"), Tenant.randomHash(), to: tenant, seconds: 0)
            #expect(first.state == .expired)
            let second = try await Self.invite(.email("Ann@Example.com"), Tenant.randomHash(), to: tenant)
            let failure = await #expect(throws: Failure.self) {
                _ = try await Self.invite(.email("aNN@example.com"), Tenant.randomHash(), to: tenant)
            }
            #expect(failure?.reason == .conflict && failure?.details["id"]?.string == second.id.description)
            let listed = try await tenant.store.invitations(of: tenant.application, in: nil, after: nil, limit: 10)
            #expect(listed.map(\.id) == [second.id])
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).invitations (id, token_hash, email, invited_by, expires)
                select gen_random_uuid(), sha256(convert_to(n::text, 'UTF8')), n || '@example.com', 'x', now() + interval '1 day'
                from generate_series(2, \(Store.maxOpenInvitations)) n
                """
            )
            let refusal = try await Self.refusal {
                _ = try await Self.invite(.phone("+41791234567"), Tenant.randomHash(), to: tenant)
            }
            #expect(refusal == .conflict)
        }
    }

    @Test("another link ends the former, and counts as long; who has become a user cannot be taken back")
    func again() async throws {
        try await lend { tenant in
            let (first, second) = (Tenant.randomHash(), Tenant.randomHash())
            let made = try await Self.invite(.email("ann@example.com"), first, to: tenant)
            try await tenant.database.psql(
                """
                update \(Tenant.schema).invitations set created = created - interval '50 minutes',
                    last_sent = last_sent - interval '50 minutes', expires = expires - interval '50 minutes'
                """
            )
            let sent = try #require(
                try await tenant.store.resend(
                    made.id,
                    tokenHash: second,
                    mail: nil,
                    of: tenant.application,
                    by: Tenant.actor
                )
            )
            #expect(sent.sent == 2 && sent.expires - (sent.lastSent ?? 0) == 3_600_000)
            #expect(try await Self.refusal(of: "1", with: first, in: tenant) == .invitationInvalid)
            #expect(try await Self.login("1", with: second, in: tenant).created)
            let revoked = try await tenant.store.revokeInvitation(made.id, of: tenant.application, by: Tenant.actor)
            #expect(!revoked)
            let resent = try await tenant.store.resend(
                made.id,
                tokenHash: first,
                mail: nil,
                of: tenant.application,
                by: Tenant.actor
            )
            #expect(resent == nil)
        }
    }

    @Test("with open doors one is taken if it is presented, with closed ones none is")
    func otherRules() async throws {
        try await lend(.open) { tenant in
            let hash = Tenant.randomHash()
            _ = try await Self.invite(.email("ann@example.com"), hash, to: tenant, roles: ["editors"])
            #expect(
                try await Self.refusal(of: "9", with: Tenant.randomHash(), in: tenant)
                    == .invitationInvalid
            )
            let made = try await Self.login("1", with: hash, in: tenant)
            #expect(try await tenant.store.roles(of: made.user.objectID, in: tenant.application) == ["editors"])
            #expect(try await Self.login("2", with: nil, in: tenant).created)
            var closed = tenant
            closed.application.settings.newUsers = .closed
            let other = Tenant.randomHash()
            _ = try await Self.invite(.email("bob@example.com"), other, to: closed)
            let shut = closed
            #expect(try await Self.refusal(of: "3", with: other, in: shut) == .newUsersClosed)
            let user = try await Self.login("1", with: other, in: shut)
            #expect(user.user.objectID == made.user.objectID, "a user logs in whatever is presented")
        }
    }

    @Test("it goes with the user who took it, and with one whom it names; expired ones are removed a month later")
    func ends() async throws {
        try await lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await Self.invite(.email("ann@example.com"), hash, to: tenant)
            let user = try #require(try await Self.register("ann@example.com", with: hash, in: tenant))
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).invitations (id, token_hash, email, invited_by, expires)
                values (gen_random_uuid(), sha256('a'), 'ANN@example.com', 'x', now() + interval '1 day'),
                    (gen_random_uuid(), sha256('b'), 'other@example.com', 'x', now() - interval '31 days'),
                    (gen_random_uuid(), sha256('c'), 'late@example.com', 'x', now() - interval '29 days')
                """
            )
            _ = try await tenant.store.change(user.objectID, of: tenant.application, by: Tenant.actor) { _ in
                .erase(banningBy: Tenant.hash)
            }
            #expect(try await tenant.count("invitations") == "2")
            #expect(try await tenant.store.purge(.invitations, of: tenant.application, limit: 10) == 1)
            let left = "select email from \(Tenant.schema).invitations"
            #expect(try await tenant.database.psql(left) == [["late@example.com"]])
        }
    }

    @Test("an open invitation to an erased user's identity goes too, whoever has asked for the deletion")
    func erased() async throws {
        for isAskedByProvider in [true, false] {
            // With registration open to all, a login looks for no invitation, so the invitation stays open.
            try await lend(.open) { tenant in
                _ = try await Self.invite(.identity(try Tenant.key("1")), nil, to: tenant)
                let user = try await Self.login("1", with: nil, in: tenant).user.objectID
                _ = try await Self.invite(.email("bob@example.com"), Tenant.randomHash(), to: tenant)
                let request = try await tenant.request("1")
                if !isAskedByProvider {
                    try await tenant.database.psql(
                        """
                        update federation.deletion_requests
                        set provider = 'password', provider_app = null, subject = null, object_id = '\(user)'
                        """
                    )
                }
                guard case .user(user, _) = try await tenant.erase(request) else {
                    Issue.record("the user is not erased")
                    return
                }
                let left = "select email from \(Tenant.schema).invitations"
                #expect(try await tenant.database.psql(left) == [["bob@example.com"]])
            }
        }
    }

    @Test("who gets a role that takes a second factor enrols it before anything is opened")
    func factor() async throws {
        try await lend { tenant in
            var tenant = tenant
            tenant.application.settings.secondFactor.demand = .required
            tenant.application.settings.secondFactor.factors = [.totp]
            tenant.application.settings.secondFactor.roles = ["editors"]
            let strict = tenant
            let (first, second) = (Tenant.randomHash(), Tenant.randomHash())
            _ = try await Self.invite(.email("ann@example.com"), first, to: strict, roles: ["editors"])
            _ = try await Self.invite(.email("bob@example.com"), second, to: strict)
            let refusal = try await Self.refusal(of: "1", with: first, in: strict)
            #expect(refusal == .secondFactorEnrolmentRequired)
            #expect(try await strict.store.invitation(tokenHash: first, of: strict.application) != nil)
            #expect(try await strict.count("users") == "0")
            #expect(try await Self.login("2", with: second, in: strict).created, "the role alone takes one")
        }
    }
}
