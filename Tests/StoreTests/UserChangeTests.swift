import Domain
import Encodings
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("The change of a person")
struct PeopleChangeTests {
    @Test("a person is read with identities and live sessions, and no token in it")
    func reading() async throws {
        try await Tenant.lend { tenant in
            let (ended, idle, live) = (Tenant.randomHash(), Tenant.randomHash(), Tenant.randomHash())
            let signedIn = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited, hash: ended)
            _ = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited, hash: idle)
            _ = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited, hash: live)
            try await tenant.link(app: "43", subject: "9", to: signedIn.user.objectID)
            try await tenant.database.psql(
                """
                update \(Tenant.schema).users set email_verified = true;
                update \(Tenant.schema).sessions set expires = now() where token_hash = '\(ended.bytea)';
                update \(Tenant.schema).sessions set last_seen = now() - interval '15 days'
                    where token_hash = '\(idle.bytea)'
                """
            )
            let found = try await tenant.store.storedUser(signedIn.user.objectID, of: tenant.application)
            let person = try #require(found)
            #expect(person.user.value("nick") == .text("a"))
            #expect(person.user.emailVerified)
            #expect(person.identities.map(\.app) == ["42", "43"])
            let identity = try #require(person.identities.first)
            #expect(identity.provider == "facebook" && identity.subject == "1001")
            #expect(identity.grantedScopes == ["email"])
            #expect(identity.dataAccessExpires == 1_900_000_000_000)
            #expect(identity.written == ["nick": .string("a")])
            #expect(identity.created == person.user.created)
            #expect(person.identities.last?.dataAccessExpires == nil)
            let id = try await tenant.database.psql(
                "select encode(substring(sha256('\(live.bytea)') for 16), 'hex')"
            )
            #expect(person.sessions.map(\.id) == [id.first?.first])
            let session = try #require(person.sessions.first)
            #expect(session.expires - session.created == 3_600_000)
        }
    }

    @Test("who logged in ten thousand times can be read and disabled, and an infinite session is one")
    func manySessions() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.insertUser()
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires)
                select sha256(n::text::bytea), '\(id)', 'infinity' from generate_series(1, 10000) n
                """
            )
            let person = try await tenant.store.storedUser(id, of: tenant.application)
            #expect(person?.sessions.count == 1000)
            #expect(person?.sessions.allSatisfy { $0.expires > 4_000_000_000_000 } == true)
            #expect(try await tenant.change(id, .setStatus(.disabled))?.sessions.isEmpty == true)
            #expect(try await tenant.count("sessions") == "0")
        }
    }

    @Test("disabling ends all sessions, enabling gives none back, and what is so already writes nothing")
    func disabling() async throws {
        try await Tenant.lend { tenant in
            let hash = Tenant.randomHash()
            let id = try await tenant.login(writing: nil, to: "nick", .always, hash: hash).user.objectID
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            #expect(try await tenant.change(id, .setStatus(.enabled))?.sessions.count == 2)
            let disabled = try await tenant.change(id, .setStatus(.disabled))
            #expect(disabled?.user.status == .disabled)
            #expect(disabled?.sessions.isEmpty == true)
            #expect(try await tenant.change(id, .setStatus(.disabled))?.user.status == .disabled)
            #expect(try await tenant.change(id, .setStatus(.enabled))?.user.status == .enabled)
            #expect(try await tenant.change(id, .setStatus(.enabled))?.user.status == .enabled)
            #expect(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() == nil)
            #expect(
                try await tenant.audit() == [
                    ["user.disable", id.description, #"{"to": "DISABLED", "from": "ENABLED"}"#],
                    ["user.enable", id.description, #"{"to": "ENABLED", "from": "DISABLED"}"#],
                ]
            )
        }
    }

    @Test("sessions of somebody who was disabled by SQL end with the disabling that finds them")
    func disabledBySQL() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql("update \(Tenant.schema).users set user_status = 'DISABLED'")
            #expect(try await tenant.change(id, .setStatus(.disabled))?.sessions.isEmpty == true)
            #expect(try await tenant.count("sessions") == "0")
            #expect(try await tenant.audit() == [["user.sessions.end", id.description, "{}"]])
        }
    }

    @Test("one session ends by its id, all of them together, and no others")
    func endingSessions() async throws {
        try await Tenant.lend { tenant in
            let (one, two, others) = (Tenant.randomHash(), Tenant.randomHash(), Tenant.randomHash())
            let id = try await tenant.login("1", writing: nil, to: "nick", .always, hash: one).user.objectID
            let first = try #require(try await tenant.store.storedUser(id, of: tenant.application)?.sessions.first?.id)
            _ = try await tenant.login("1", writing: nil, to: "nick", .always, hash: two)
            let stranger = try await tenant.login("2", writing: nil, to: "nick", .always, hash: others).user.objectID

            // A session does not end by another user's id.
            #expect(try await tenant.change(stranger, .endSession(id: first))?.sessions.count == 1)
            #expect(try await tenant.change(id, .endSession(id: first))?.sessions.count == 1)
            #expect(try await tenant.store.sessionUser(tokenHash: one, of: tenant.application).get() == nil)
            #expect(try await tenant.store.sessionUser(tokenHash: two, of: tenant.application).get() != nil)
            #expect(try await tenant.change(id, .endSession(id: first))?.sessions.count == 1)
            #expect(try await tenant.change(id, .endSessions)?.sessions.isEmpty == true)
            #expect(try await tenant.change(id, .endSessions)?.sessions.isEmpty == true)
            #expect(try await tenant.store.sessionUser(tokenHash: others, of: tenant.application).get() != nil)
            #expect(
                try await tenant.audit() == [
                    ["user.session.end", id.description, #"{"from": {"session": "\#(first)"}}"#],
                    ["user.sessions.end", id.description, "{}"],
                ]
            )
        }
    }

    @Test("an identity is given once, as old as its person; nobody gets a second one, another's or a banned one")
    func linking() async throws {
        try await Tenant.lend { tenant in
            func change(_ subject: String) throws -> UserChange {
                let key = try Tenant.key(subject)
                return .link(key, banHash: Tenant.hash(key))
            }
            let id = try await tenant.insertUser()
            let stranger = try await tenant.insertUser()
            try await tenant.database.psql("update \(Tenant.users) set created = now() - interval '1 day'")
            for _ in 1...2 {
                let person = try #require(try await tenant.change(id, change("1")))
                #expect(person.identities.map(\.subject) == ["1"])
                #expect(person.identities.first?.created == person.user.created)
            }
            let details = #"{"to": {"appId": "42", "subject": "1", "provider": "facebook"}}"#
            #expect(try await tenant.audit() == [["user.link", id.description, details]])
            _ = try await tenant.ban("3")
            func expect(_ reason: Failure.Reason, of subject: String, for id: ObjectID) async throws {
                let failure = await #expect(throws: Failure.self) { try await tenant.change(id, change(subject)) }
                #expect(failure?.reason == reason, "\(subject): \(failure?.message ?? "")")
            }
            try await expect(.identityTaken, of: "1", for: stranger)
            try await expect(.conflict, of: "2", for: id)
            try await expect(.conflict, of: "3", for: stranger)
            try await tenant.database.psql("update \(Tenant.users) set user_status = 'GUEST'")
            try await expect(.conflict, of: "2", for: stranger)
            #expect(try await tenant.database.psql("select subject from \(Tenant.schema).identities") == [["1"]])
        }
    }

    @Test("of several changes each one sees the former ones; if one is refused, none is made")
    func several() async throws {
        struct Refusal: Error {}
        try await Tenant.lend { tenant in
            let id = try await tenant.login("1", writing: nil, to: "nick", .always).user.objectID
            try await tenant.link(subject: "2", to: id)
            @Sendable func unlink(_ subject: String) -> UserChange {
                .unlink(provider: "facebook", app: "42", subject: subject)
            }
            func change(_ plans: UserChangePlan...) async throws -> ChangedUser {
                try await tenant.store.change(id, of: tenant.application, by: Tenant.actor, plans: plans)
            }
            await #expect(throws: Refusal.self) { try await change({ _ in [unlink("1")] }, { _ in throw Refusal() }) }
            #expect(try await tenant.audit().isEmpty)
            let changed = try await change(
                { _ in [unlink("1")] },
                { $0.identities.count == 1 ? [.setStatus(.disabled), .endSessions] : [] },
                { $0.user.status == .disabled ? [unlink("2"), unlink("2")] : [] },
                { _ in [] }
            )
            #expect(changed.isRecorded && changed.stored?.identities.isEmpty == true)
            #expect(
                try await tenant.audit().compactMap { $0.first ?? nil } == [
                    "user.unlink", "user.disable", "user.unlink",
                ]
            )
        }
    }

    @Test("an identity is taken away, and its person's next login is a new user")
    func unlinking() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login("1", writing: nil, to: "nick", .always).user.objectID
            try await tenant.link(subject: "2", to: id)
            let change = UserChange.unlink(provider: "facebook", app: "42", subject: "1")
            #expect(try await tenant.change(id, change)?.identities.map(\.subject) == ["2"])
            #expect(try await tenant.change(id, change)?.identities.map(\.subject) == ["2"])
            let again = try await tenant.login("1", writing: nil, to: "nick", .always)
            #expect(again.created && again.user.objectID != id)
            // The user no longer has the subject.
            #expect(try await tenant.change(id, change)?.identities.count == 1)
            #expect(try await tenant.count("identities") == "2")
            let details = #"{"from": {"appId": "42", "subject": "1", "provider": "facebook"}}"#
            #expect(try await tenant.audit() == [["user.unlink", id.description, details]])
        }
    }

    @Test("an erased person leaves an objectId in the audit log and nothing else anywhere")
    func erasing() async throws {
        try await Tenant.lend { tenant in
            let canary = "canary-\(UInt64.random(in: .min ... .max))"
            let subject = String(UInt64.random(in: 1 << 60 ... .max))
            let id = try await tenant.login(subject, writing: .text(canary), to: "nick", .untilEdited).user.objectID
            _ = try await tenant.login("2", writing: nil, to: "nick", .always)
            #expect(try await tenant.change(id, .erase(banningBy: Tenant.hash)) == nil)
            for table in ["users", "identities", "sessions"] { #expect(try await tenant.count(table) == "1") }
            #expect(try await tenant.audit() == [["user.erase", id.description, "{}"]])
            let rows = try await tenant.database.psql("select a::text from federation.audit_log a")
            #expect(rows.joined().allSatisfy { $0?.contains(canary) == false && $0?.contains(subject) == false })
            try await tenant.expectNoSuchUser(id)
        }
    }

    @Test("what the plan throws passes through, and nothing has changed")
    func refusedByPlan() async throws {
        struct Refusal: Error {}
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            await #expect(throws: Refusal.self) {
                try await tenant.store.change(id, of: tenant.application, by: Tenant.actor) { _ in throw Refusal()
                }
            }
            let same = try await tenant.store.change(id, of: tenant.application, by: Tenant.actor) { _ in nil }
            #expect(same.stored?.sessions.count == 1)
            #expect(try await tenant.audit().isEmpty)
        }
    }

    @Test("an unknown id and one of another application are no user")
    func unknown() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("select federation.create_application_schema('other')")
            try await tenant.database.psql("insert into other.users (object_id) values ('\(UUID())')")
            let others = try await tenant.database.psql("select object_id from other.users").first?.first
            try await tenant.expectNoSuchUser(ObjectID(UUID()))
            try await tenant.expectNoSuchUser(try #require((others ?? nil).flatMap { ObjectID($0) }))
            #expect(try await tenant.database.psql("select user_status from other.users") == [["ENABLED"]])
        }
    }

    @Test("a table of the operator's own that refers to the user forbids to erase it, and says so")
    func referred() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                create table public.orders (buyer uuid constraint buyer_exists references \(Tenant.schema).users);
                insert into public.orders values ('\(id)')
                """
            )
            let failure = await #expect(throws: Failure.self) {
                try await tenant.change(id, .erase(banningBy: Tenant.hash))
            }
            #expect(failure?.reason == .conflict)
            #expect(failure?.details["table"] == .string("public.orders"))
            #expect(failure?.details["constraint"] == .string("buyer_exists"))
            #expect(try await tenant.count("sessions") == "1")
            #expect(try await tenant.audit().isEmpty)
        }
    }

    @Test(
        "what PostgreSQL refuses as a restriction (23001, from version 18 on for ON DELETE RESTRICT) is the same conflict"
    )
    func restricted() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            // Older versions of PostgreSQL report 23503; the trigger reports the code of newer versions.
            try await tenant.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $body$
                begin
                    raise exception 'still referred to' using errcode = 'restrict_violation', schema = 'public',
                        table = 'orders', constraint = 'buyer_exists';
                end
                $body$;
                create trigger refuse before delete on \(Tenant.users) for each row execute function public.refuse()
                """
            )
            let failure = await #expect(throws: Failure.self) {
                try await tenant.change(id, .erase(banningBy: Tenant.hash))
            }
            #expect(failure?.reason == .conflict)
            #expect(failure?.details["table"] == .string("public.orders"))
            #expect(failure?.details["constraint"] == .string("buyer_exists"))
            #expect(try await tenant.count("users") == "1")
        }
    }

    @Test("the entry of the audit log says who did it, where from and of which application")
    func auditEntry() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.insertUser()
            _ = try await tenant.change(id, .setStatus(.disabled))
            let entry = try await tenant.database.psql(
                "select actor, source, application_id from federation.audit_log where action = 'user.disable'"
            )
            #expect(entry == [["ann", "10.0.0.1", "tenant"]])
        }
    }
}

extension Tenant {
    func change(_ id: ObjectID, _ change: UserChange) async throws -> StoredUser? {
        try await store.change(id, of: application, by: Self.actor) { _ in change }.stored
    }

    /// Returns action, target and details of all entries about users, in their order.
    fileprivate func audit() async throws -> [[String?]] {
        try await database.psql(
            "select action, target, details from federation.audit_log where action like 'user.%' order by id"
        )
    }

    fileprivate func expectNoSuchUser(_ id: ObjectID) async throws {
        let failure = await #expect(throws: Failure.self) { try await change(id, .setStatus(.disabled)) }
        #expect(failure?.reason == .notFound)
        #expect(failure?.message == Failure.noSuchUser.message)
        #expect(try await store.storedUser(id, of: application) == nil)
    }
}

extension [UInt8] {
    /// The bytes as a literal of bytea, without the quotes.
    var bytea: String {
        "\\x" + map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
