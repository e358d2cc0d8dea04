import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Identities that Facebook ends, and permissions that it changes")
struct IdentityRevocationTests {
    @Test(
        "a revoked identity is marked, its token forgotten, and only the sessions that rest on it end, if they are to"
    )
    func revoke() async throws {
        for endsSessions in [false, true] {
            try await Tenant.lend { tenant in
                let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
                try await tenant.link(app: "43", subject: "1001", to: id)
                try await tenant.keepTokens()
                try await tenant.openSession(of: id, app: "43")
                #expect(try await tenant.revoke("1001", endsSessions: endsSessions) == id)

                let identities = try await tenant.database.psql(
                    """
                    select provider_app, revoked_by, revoked is not null, token is not null, token_kind, check_due
                    from \(Tenant.schema).identities order by 1
                    """
                )
                #expect(identities == [["42", "test", "t", "f", nil, nil], ["43", nil, "f", "t", "access", nil]])
                let apps = try await tenant.database.psql(
                    "select provider_app from \(Tenant.schema).sessions order by 1"
                )
                #expect(apps == (endsSessions ? [["43"]] : [["42"], ["43"]]))
                let person = try #require(try await tenant.store.storedUser(id, of: tenant.application))
                #expect(person.identities.map(\.revokedBy) == ["test", nil])
                #expect(person.identities.map(\.tokenKept) == [false, true])
                #expect(person.identities.map { $0.revoked != nil } == [true, false])
                #expect(
                    try await tenant.audit() == [["user.revoke", id.description, "facebook"]],
                    "the log names the user, never the subject"
                )
            }
        }
    }

    @Test("news of a revocation that a login has made void, that is known, or that is of nobody, changes nothing")
    func void() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            #expect(try await tenant.revoke("1001", at: Tenant.now - 5) == nil, "signed before the login")
            #expect(try await tenant.revoke("1002") == nil, "nobody")
            #expect(try await tenant.revoke("1001", app: "43") == nil, "another app")
            #expect(try await tenant.count("sessions") == "1")
            #expect(try await tenant.audit().isEmpty)

            #expect(try await tenant.revoke("1001") == id)
            #expect(try await tenant.revoke("1001") == nil, "twice")
            #expect(try await tenant.audit().count == 1)

            _ = try await tenant.login(writing: nil, to: "nick", .always)
            let person = try await tenant.store.storedUser(id, of: tenant.application)
            #expect(person?.identities.first?.revoked == nil, "a login shows that the app is back")
        }
    }

    @Test("of the events of a permission the newest counts, in whatever order and however often they come")
    func order() async throws {
        try await Tenant.lend { tenant in
            for (round, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1], [1, 3, 3, 0, 2, 1], [3, 0, 3]].enumerated()
            {
                let subject = String(7000 + round)
                let id = try await tenant.login(subject, writing: nil, to: "nick", .always).user.objectID
                let now = Tenant.now
                let events: [(granted: Bool, at: Int64)] = [
                    (true, now + 1), (false, now + 2), (true, now + 3), (false, now + 4),
                ]
                for place in order {
                    let event = events[place]
                    _ = try await tenant.note("user_birthday", event.granted, at: event.at, of: subject)
                    _ = try await tenant.note("user_link", !event.granted, at: event.at, of: subject)
                }
                let identity = try await tenant.store.storedUser(id, of: tenant.application)?.identities.first
                #expect(identity?.grantedScopes == ["email", "user_link"], "\(order)")
                #expect(identity?.declinedScopes == ["user_birthday"], "\(order)")
            }
        }
    }

    @Test("an event from before the last login is no news; of two within a second the revocation counts")
    func ties() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            #expect(try await tenant.note("email", false, at: Tenant.now - 5, of: "1001") == 0)
            #expect(try await tenant.note("email", false, at: Tenant.now + 9, of: "888") == 0)
            let moment = Tenant.now + 5
            #expect(try await tenant.note("email", false, at: moment, of: "1001") == 1)
            #expect(try await tenant.note("email", true, at: moment, of: "1001") == 0)
            let identity = try await tenant.store.storedUser(id, of: tenant.application)?.identities.first
            #expect(identity?.grantedScopes == [])
            #expect(identity?.declinedScopes == ["email"])
        }
    }
}

extension ProviderName {
    /// A provider for which the service has no code.
    static let other = ProviderName(known: "other")
}

extension Tenant {
    /// The current time in Unix seconds.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    static func key(
        _ subject: String,
        app: String = "42",
        at provider: ProviderName = .facebook
    ) throws -> IdentityKey {
        IdentityKey(
            provider: provider,
            app: try #require(ProviderAppID(app)),
            subject: try #require(Subject(subject))
        )
    }

    fileprivate func revoke(
        _ subject: String,
        app: String = "42",
        at moment: Int64 = now,
        endsSessions: Bool = true
    ) async throws -> ObjectID? {
        try await store.revoke(
            IdentityRevocation(
                of: try Self.key(subject, app: app),
                .access(until: moment),
                by: "test",
                endsSessions: endsSessions
            ),
            of: application,
            by: Self.actor
        )?.user
    }

    fileprivate func note(_ permission: String, _ isGranted: Bool, at moment: Int64, of subject: String) async throws
        -> Int
    {
        try await store.note(
            [PermissionChange(permission, isGranted: isGranted)],
            at: moment,
            for: try Self.key(subject),
            of: application
        )
    }

    /// Stores a token of 3 bytes for every identity.
    func keepTokens() async throws {
        try await database.psql(
            """
            update \(Self.schema).identities set token = 'abc', token_key_id = 'k1', token_kind = 'access',
                token_expires = to_timestamp(1900000000)
            """
        )
    }

    /// Opens a session that an identity of the subject 1001 began.
    func openSession(of id: ObjectID, app: String) async throws {
        try await database.psql(
            """
            insert into \(Self.schema).sessions (token_hash, object_id, expires, provider, provider_app, subject)
            values ('\(Self.randomHash().bytea)', '\(id)', now() + interval '1 hour', 'facebook', '\(app)', '1001')
            """
        )
    }

    fileprivate func audit() async throws -> [[String?]] {
        let rows = try await database.psql("select a::text from federation.audit_log a where action like 'user.%'")
        #expect(rows.joined().allSatisfy { $0?.contains("1001") == false })
        return try await database.psql(
            """
            select action, target, details -> 'to' ->> 'provider' from federation.audit_log
            where action like 'user.%' order by id
            """
        )
    }
}
