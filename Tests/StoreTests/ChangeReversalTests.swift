import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Undoing what has become of an account")
struct ChangeReversalTests {
    /// Lends the user Ann, created a year ago, with a password, an old identity and a confirmed address.
    private func lend(_ body: @escaping (Tenant, ObjectID) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            let ann = try await tenant.insertUser(email: "ann@example.com")
            try await tenant.link(subject: "1001", to: ann)
            try await tenant.database.psql(
                """
                update \(Tenant.users) set email_verified = true, created = now() - interval '1 year';
                update \(Tenant.schema).identities set created = now() - interval '300 days';
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                    values ('\(ann)', 'ann@example.com', '\\x01', 'key')
                """
            )
            try await body(tenant, ann)
        }
    }

    @Test(
        "address, password and identities are those of before; what came within three days before goes, and every session"
    )
    func undone() async throws {
        try await lend { tenant, ann in
            try await tenant.link(app: "43", subject: "666", to: ann)
            let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            _ = try await tenant.unlink("42", of: ann, announcing: nil)
            #expect(try await tenant.identities(of: ann) == ["43/666"])
            try await tenant.addLink(.passwordReset, of: ann, email: "thief@example.com")
            #expect(try await tenant.undo(link, of: ann, login: "ann@example.com")?.notRestored == [])
            #expect(
                try await tenant.database.psql("select email, email_verified from \(Tenant.users)") == [
                    ["ann@example.com", "t"]
                ]
            )
            #expect(
                try await tenant.database.psql("select login, hash from \(Tenant.schema).passwords") == [
                    ["ann@example.com", "\\x09"]
                ]
            )
            #expect(try await tenant.identities(of: ann) == ["42/1001"])
            for table in ["sessions", "email_proofs", "removed_identities"] {
                #expect(try await tenant.count(table) == "0", "\(table)")
            }
            #expect(try await tenant.undo(link, of: ann, login: "ann@example.com") == nil, "it counts once")
        }
    }

    @Test("what the user came by stays, however young, and what an attacker linked and unlinked does not come back")
    func first() async throws {
        try await lend { tenant, ann in
            try await tenant.database.psql(
                """
                update \(Tenant.users) set created = now();
                update \(Tenant.schema).identities set created = (select created from \(Tenant.users))
                """
            )
            try await tenant.link(app: "43", subject: "666", to: ann)
            let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            _ = try await tenant.unlink("43", of: ann, announcing: nil)
            #expect(try await tenant.undo(link, of: ann, login: "ann@example.com")?.notRestored == [])
            #expect(try await tenant.identities(of: ann) == ["42/1001"])
        }
    }

    @Test("an identity that an operator imports after the change stays, unlike one that was linked")
    func imported() async throws {
        try await lend { tenant, ann in
            let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            try await tenant.link(app: "43", subject: "666", to: ann)
            let key = try Tenant.key("77", app: "44")
            let outcome = try await tenant.store.link(
                [IdentityPair(record: 1, line: 2, user: .id(ann), identity: key)],
                besides: [],
                in: tenant.application,
                hashingBy: { _ in [] }
            )
            #expect(outcome.counts.imported == 1)
            _ = try await tenant.undo(link, of: ann, login: "ann@example.com")
            #expect(try await tenant.identities(of: ann) == ["42/1001", "44/77"])
        }
    }

    @Test("of the owners of one address after the other the first has the last word")
    func chain() async throws {
        for firstUndoes in [true, false] {
            try await lend { tenant, ann in
                let first = try await tenant.changeEmail(of: ann, to: "thief@example.com")
                try await tenant.database.psql("update \(Tenant.users) set email_verified = true")
                let second = try await tenant.changeEmail(of: ann, to: "other@example.com", from: "thief@example.com")
                if !firstUndoes {
                    #expect(try await tenant.undo(second, of: ann, login: "thief@example.com") != nil)
                }
                #expect(try await tenant.undo(first, of: ann, login: "ann@example.com") != nil)
                #expect(try await tenant.undo(second, of: ann, login: "thief@example.com") == nil)
                #expect(
                    try await tenant.database.psql("select email from \(Tenant.users)") == [["ann@example.com"]]
                )
            }
        }
    }

    @Test("T-33: who reads the new address does not move in while who reads the former one can take the account back")
    func reset() async throws {
        for isUndone in [true, false] {
            try await lend { tenant, ann in
                let link = try await tenant.changeEmail(of: ann, to: "new@example.com")
                let reset = try await tenant.addLink(.passwordReset, of: ann, email: "new@example.com")
                let refused = await #expect(throws: Failure.self) {
                    try await tenant.reset(reset, of: ann, login: "new@example.com")
                }
                #expect(refused?.reason == .conflict)
                #expect(try await tenant.identities(of: ann) == ["42/1001"], "nothing is half done")
                if isUndone {
                    #expect(try await tenant.undo(link, of: ann, login: "ann@example.com") != nil)
                    #expect(try await tenant.reset(reset, of: ann, login: "new@example.com") == nil)
                } else {
                    try await tenant.database.psql(
                        "update \(Tenant.schema).email_proofs set expires = now() where purpose = 'reversal'"
                    )
                    #expect(try await tenant.reset(reset, of: ann, login: "new@example.com") != nil)
                }
            }
        }
    }

    @Test("T-33: a thief's deletion at Facebook waits until the owner cannot take the account back any more")
    func lastIdentity() async throws {
        try await lend { tenant, ann in
            _ = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            try await tenant.database.psql("delete from \(Tenant.schema).passwords")
            let request = try await tenant.request("1001")
            guard case .blocked("a link that takes the account back") = try await tenant.erase(request) else {
                Issue.record("the erasure does not wait")
                return
            }
            #expect(try await tenant.identities(of: ann) == ["42/1001"])
            try await tenant.database.psql("update \(Tenant.schema).email_proofs set expires = now()")
            guard case .user(ann, _) = try await tenant.erase(request) else {
                Issue.record("the user is not erased")
                return
            }
        }
    }

    @Test("what the owner's own reset takes away does not come back by the owner's link")
    func ownReset() async throws {
        try await lend { tenant, ann in
            try await tenant.link(app: "43", subject: "666", to: ann)
            try await tenant.database.psql(
                "update \(Tenant.schema).identities set created = now() - interval '200 days'"
            )
            let link = Tenant.randomHash()
            _ = try await tenant.unlink("42", of: ann, announcing: tenant.announcement("ann@example.com", link: link))
            let reset = try await tenant.addLink(.passwordReset, of: ann, email: "ann@example.com")
            #expect(try await tenant.reset(reset, of: ann, login: "ann@example.com") != nil)
            #expect(try await tenant.undo(link, of: ann, login: "ann@example.com") != nil)
            #expect(try await tenant.identities(of: ann) == ["42/1001"])
        }
    }

    @Test(
        "an account that took the address without confirming it loses the login; of one that confirmed it nothing is undone"
    )
    func takenAddress() async throws {
        for isConfirmed in [false, true] {
            try await lend { tenant, ann in
                let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
                let other = try await tenant.insertUser(email: "Ann@example.com")
                try await tenant.database.psql(
                    """
                    update \(Tenant.users) set email_verified = \(isConfirmed) where object_id = '\(other)';
                    insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                    values ('\(other)', 'ann@example.com', '\\x06', 'key')
                    """
                )
                if isConfirmed {
                    let before = try await tenant.rows()
                    let failure = await #expect(throws: Failure.self) {
                        try await tenant.undo(link, of: ann, login: "ann@example.com")
                    }
                    #expect(failure?.reason == .loginTakenByOther)
                    #expect(try await tenant.rows() == before)
                } else {
                    #expect(try await tenant.undo(link, of: ann, login: "ann@example.com") != nil)
                    let owner = try await tenant.database.psql(
                        "select object_id, login from \(Tenant.schema).passwords"
                    )
                    #expect(owner.count == 1 && owner.first?.first??.uppercased() == ann.description.uppercased())
                }
            }
        }
    }

    @Test("an identity that is somebody else's by now stays theirs, and is named")
    func takenIdentity() async throws {
        try await lend { tenant, ann in
            let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            _ = try await tenant.unlink("42", of: ann, announcing: nil)
            let other = try await tenant.insertUser()
            try await tenant.link(subject: "1001", to: other)
            #expect(try await tenant.undo(link, of: ann, login: "ann@example.com")?.notRestored == ["facebook"])
            #expect(try await tenant.identities(of: other) == ["42/1001"])
            #expect(try await tenant.identities(of: ann).isEmpty)
        }
    }

    @Test("T-118: an identity that is erased, or goes with another user, does not come back; nor does a disabled user")
    func erased() async throws {
        for way in 0..<3 {
            try await lend { tenant, ann in
                let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
                _ = try await tenant.unlink("42", of: ann, announcing: nil)
                #expect(try await tenant.count("removed_identities") == "1")
                switch way {
                case 0: _ = try await tenant.erase(try await tenant.request("1001"))
                case 1:
                    let other = try await tenant.insertUser()
                    try await tenant.link(subject: "1001", to: other)
                    _ = try await tenant.change(other, .erase(banningBy: Tenant.hash))
                default: _ = try await tenant.change(ann, .setStatus(.disabled))
                }
                let undone = try await tenant.undo(link, of: ann, login: "ann@example.com")
                #expect((undone == nil) == (way == 2))
                #expect(try await tenant.identities(of: ann).isEmpty)
                _ = try await tenant.change(ann, .erase(banningBy: Tenant.hash))
                #expect(try await tenant.count("removed_identities") == "0")
            }
        }
    }

    @Test("an identity that is just being brought back is erased all the same")
    func erasedMeanwhile() async throws {
        try await lend { tenant, ann in
            _ = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            _ = try await tenant.unlink("42", of: ann, announcing: nil)
            let request = try await tenant.request("1001")
            try await tenant.whileWaiting(
                for: ann,
                """
                delete from \(Tenant.schema).removed_identities;
                insert into \(Tenant.schema).identities (provider, provider_app, subject, object_id, created)
                values ('facebook', '42', '1001', '\(ann)', now() - interval '300 days')
                """
            ) {
                guard case .identity(ann, _) = try await tenant.erase(request) else {
                    Issue.record("the identity is not erased")
                    return
                }
            }
            #expect(try await tenant.identities(of: ann).isEmpty)
        }
    }

    @Test("T-60: of two uses of one link at once one counts, and a link that is a week old counts no more")
    func once() async throws {
        try await lend { tenant, ann in
            let link = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            let counted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 {
                    group.addTask { try await tenant.undo(link, of: ann, login: "ann@example.com") != nil }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(counted == 1)
            let old = try await tenant.changeEmail(of: ann, to: "thief@example.com")
            _ = try await tenant.unlink("42", of: ann, announcing: nil)
            try await tenant.database.psql(
                """
                update \(Tenant.schema).email_proofs set expires = now();
                update \(Tenant.schema).removed_identities set removed = now() - interval '7 days'
                """
            )
            #expect(try await tenant.undo(old, of: ann, login: "ann@example.com") == nil)
            for expired in [Expired.emailTokens, .removedIdentities] {
                #expect(try await tenant.store.purge(expired, of: tenant.application, limit: 9) == 1)
            }
        }
    }

    @Test("without a link that could bring it back nothing is kept of what is unlinked; too many notices have no links")
    func kept() async throws {
        try await lend { tenant, ann in
            let count = AttemptCount(for: Tenant.randomHash(), by: .mailsToMailbox)
            for number in 1...4 {
                try await tenant.link(app: "\(number)", subject: "1", to: ann)
                let announcement = tenant.announcement("ann@example.com", link: Tenant.randomHash(), count: count)
                if number == 4 { try await tenant.database.psql("delete from \(Tenant.schema).email_proofs") }
                _ = try await tenant.unlink("\(number)", of: ann, announcing: announcement)
            }
            #expect(try await tenant.count("mails") == "3")
            #expect(try await tenant.count("email_proofs") == "0")
            #expect(try await tenant.count("removed_identities") == "3")
        }
    }

    @Test("nobody is told at an address that is not the account's any more: the change fails")
    func stale() async throws {
        try await lend { tenant, ann in
            for announcement in [
                tenant.announcement("former@example.com", link: nil),
                tenant.announcement("ann@example.com", isVerified: false, link: nil),
            ] {
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.unlink("42", of: ann, announcing: announcement)
                }
                #expect(failure?.reason == .conflict)
            }
            let left = try await tenant.identities(of: ann)
            #expect(left == ["42/1001"])
            #expect(try await tenant.count("mails") == "0")
        }
    }
}

extension Tenant {
    /// Returns the announcement of a change, with one mail.
    fileprivate func announcement(
        _ email: String,
        isVerified: Bool = true,
        link: [UInt8]?,
        count: AttemptCount = AttemptCount(for: randomHash(), by: .mailsToMailbox)
    ) -> Announcement {
        let id = ObjectID(UUID())
        let notice = Notice(
            id: id,
            event: "\(id)",
            content: EncryptedSecret(bytes: [], keyID: "key"),
            counts: [count],
            reversalHash: link
        )
        return Announcement(email: email, isVerified: isVerified, notices: [notice])
    }

    private func openSession(of user: ObjectID) async throws -> [UInt8] {
        let hash = Self.randomHash()
        try await database.psql(
            """
            insert into \(Self.schema).sessions (token_hash, object_id, expires)
            values ('\(hash.bytea)', '\(user)', now() + interval '1 hour')
            """
        )
        return hash
    }

    /// Changes a user's e-mail address.
    ///
    /// - Returns: The hash of the link that undoes the change.
    fileprivate func changeEmail(
        of user: ObjectID,
        to email: String,
        from former: String = "ann@example.com"
    ) async throws -> [UInt8] {
        let link = Self.randomHash()
        var given = GivenProperties()
        given.values.append((try #require(application.properties.first { $0.name == .email }), .text(email)))
        let hash = try await store.password(of: user, in: application)?.hash
        let update = UserUpdate(
            id: user,
            given: given,
            login: UserUpdate.LoginChange(login: email, password: nil, formerHash: hash),
            announcement: announcement(former, link: link)
        )
        _ = try await store.update(update, by: .session(openSession(of: user), factorWithin: nil), of: application)
            .get()
        return link
    }

    fileprivate func unlink(
        _ app: String,
        of user: ObjectID,
        announcing announcement: Announcement?
    ) async throws -> [KeptIdentity] {
        try await store.removeLoginMethod(
            LoginMethodSelection(provider: "facebook", app: app),
            fromUserOf: openSession(of: user),
            authenticatedWithin: 300,
            announcing: announcement,
            in: application
        )
    }

    @discardableResult
    fileprivate func addLink(_ purpose: EmailTokenPurpose, of user: ObjectID, email: String) async throws -> [UInt8] {
        let link = Self.randomHash()
        let token = EmailToken(user: user, email: email)
        try await store.addEmailToken(token, for: purpose, tokenHash: link, of: application)
        return link
    }

    private func password(of user: ObjectID, login: String) -> StoredPassword {
        StoredPassword(objectID: user, login: login, hash: EncryptedSecret(bytes: [9], keyID: "key"))
    }

    fileprivate func undo(_ link: [UInt8], of user: ObjectID, login: String) async throws -> UndoneChange? {
        try await store.undoChange(
            byLink: link,
            to: password(of: user, login: login),
            forgetting: Self.randomHash(),
            showing: nil,
            in: application
        )
    }

    fileprivate func reset(_ link: [UInt8], of user: ObjectID, login: String) async throws -> [KeptIdentity]? {
        try await store.resetPassword(
            byLink: link,
            for: .passwordReset,
            to: password(of: user, login: login),
            at: login,
            keepingIdentities: false,
            forgetting: Self.randomHash(),
            showing: nil,
            in: application
        )
    }

    fileprivate func identities(of user: ObjectID) async throws -> [String?] {
        try await database.psql(
            """
            select provider_app || '/' || subject from \(Self.schema).identities where object_id = '\(user)' order by 1
            """
        ).joined().map(\.self)
    }

    /// Returns all rows that undoing a change could write.
    fileprivate func rows() async throws -> [[String?]] {
        try await database.psql(
            """
            select (select jsonb_agg(u order by object_id) from \(Self.users) u),
                (select jsonb_agg(p order by object_id) from \(Self.schema).passwords p),
                (select jsonb_agg(e) from \(Self.schema).email_proofs e),
                (select jsonb_agg(s order by token_hash) from \(Self.schema).sessions s),
                (select jsonb_agg(i) from \(Self.schema).identities i)
            """
        )
    }
}
