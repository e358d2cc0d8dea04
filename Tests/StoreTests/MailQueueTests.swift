import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("The queue of mails")
struct MailQueueTests {
    /// Lends a tenant with one user, and the user's id.
    private func lend(_ body: (Tenant, ObjectID) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            let id = try #require(try await tenant.database.psql("select object_id from \(Tenant.users)").first?.first)
            try await body(tenant, try #require(id.flatMap(ObjectID.init)))
        }
    }

    @Test("an event brings one mail, however many ask for it at once")
    func once() async throws {
        try await lend { tenant, user in
            let added = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 { group.addTask { try await tenant.enqueue("a", for: user) } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(added == 1)
            #expect(try await tenant.count("mails") == "1")
            #expect(try await tenant.enqueue("b", for: user))
        }
    }

    @Test("there is no mail for a user who has gone, and those that wait go with them")
    func erased() async throws {
        try await lend { tenant, user in
            #expect(try await tenant.enqueue("a", for: ObjectID(UUID())) == false)
            #expect(try await tenant.enqueue("b", for: user))
            try await tenant.database.psql("delete from \(Tenant.users)")
            #expect(try await tenant.count("mails") == "0")
        }
    }

    @Test("twelve who claim at once get every mail, and none of them twice")
    func atOnce() async throws {
        try await lend { tenant, user in
            for number in 0..<200 { _ = try await tenant.enqueue("e\(number)", for: user) }
            let claimed = try await withThrowingTaskGroup(of: [ObjectID].self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        var mine: [ObjectID] = []
                        repeat {
                            mine += try await tenant.store.claimMails(of: tenant.application, limit: 7).map(\.id)
                        } while try await tenant.states().contains("waiting")
                        return mine
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claimed.count == 200)
            #expect(Set(claimed).count == 200)
        }
    }

    @Test("of a mail that is over its text goes, one that could not be sent comes back when it is due")
    func ends() async throws {
        try await lend { tenant, user in
            let ends: [(MailEnd, String)] = [
                (.sent, "sent"), (.failed(problem: "550"), "failed"), (.uncertain(problem: "?"), "uncertain"),
                (.waiting(seconds: 60, problem: "450"), "waiting"),
            ]
            for (end, state) in ends {
                #expect(try await tenant.enqueue(state, for: user))
                let claimed = try #require(try await tenant.claim().first)
                #expect(claimed.attempts == 1)
                #expect(claimed.content == EncryptedSecret(bytes: [1, 2, 3], keyID: "key"))
                #expect(try await tenant.claim().isEmpty)
                #expect(try await tenant.store.settle(claimed.id, as: end, of: tenant.application))
                // After the first result the claim is over.
                #expect(try await tenant.store.settle(claimed.id, as: .sent, of: tenant.application) == false)
                #expect(try await tenant.claim().isEmpty)
                let row = try await tenant.database.psql(
                    """
                    select state, octet_length(content), done is not null, round(extract(epoch from due - now()) / 60)
                    from \(Tenant.schema).mails where event = '\(state)'
                    """
                ).first
                let isWaiting = state == "waiting"
                #expect(row?.prefix(3) == [state, isWaiting ? "3" : "0", isWaiting ? "f" : "t"])
                if isWaiting { #expect(row?.last == "1") }
            }
            try await tenant.database.psql("update \(Tenant.schema).mails set due = now()")
            #expect(try await tenant.claim().map(\.attempts) == [2])
        }
    }

    @Test("what a killed instance was sending is given up, and nobody sends it again")
    func lost() async throws {
        try await lend { tenant, user in
            #expect(try await tenant.enqueue("a", for: user))
            let claimed = try #require(try await tenant.claim().first)
            #expect(try await tenant.store.giveUpLostMails(after: 600, of: tenant.application) == 0)
            try await tenant.database.psql("update \(Tenant.schema).mails set taken = now() - interval '601 seconds'")
            #expect(try await tenant.store.giveUpLostMails(after: 600, of: tenant.application) == 1)
            #expect(try await tenant.states() == ["uncertain"])
            #expect(try await tenant.claim().isEmpty)
            // A late result of a frozen instance changes nothing.
            let late = MailEnd.waiting(seconds: 0, problem: "x")
            #expect(try await tenant.store.settle(claimed.id, as: late, of: tenant.application) == false)
            #expect(try await tenant.enqueue("a", for: user) == false)
        }
    }

    @Test("sent mails are remembered for a day, given up ones for a week, waiting ones as long as they wait")
    func purged() async throws {
        try await lend { tenant, user in
            for (event, state, days) in [
                ("a", "sent", 2), ("b", "sent", 0), ("c", "failed", 6), ("d", "failed", 8), ("e", "uncertain", 8),
            ] {
                #expect(try await tenant.enqueue(event, for: user))
                try await tenant.database.psql(
                    """
                    update \(Tenant.schema).mails set state = '\(state)', done = now() - interval '\(days) days'
                    where event = '\(event)'
                    """
                )
            }
            #expect(try await tenant.enqueue("f", for: user))
            try await tenant.database.psql(
                "update \(Tenant.schema).mails set created = now() - interval '30 days' where event = 'f'"
            )
            #expect(try await tenant.store.purge(.mails, of: tenant.application, limit: 10) == 3)
            let left = try await tenant.database.psql("select event from \(Tenant.schema).mails order by 1")
            #expect(left.compactMap { $0.first ?? nil } == ["b", "c", "f"])
        }
    }

    @Test("mails on their way are encrypted anew; one that does not open is given up")
    func reencrypted() async throws {
        try await lend { tenant, user in
            for event in ["a", "b", "c"] { #expect(try await tenant.enqueue(event, for: user)) }
            let sending = try await tenant.store.claimMails(of: tenant.application, limit: 1)
            let place = try #require(try await tenant.store.applicationPlaces().first)
            #expect(try await tenant.store.encrypted(.mails, of: place).map(\.count) == [3])
            let broken = try #require(
                try await tenant.database.psql(
                    "select id from \(Tenant.schema).mails where state = 'waiting' limit 1"
                ).first?.first.flatMap { $0.flatMap(ObjectID.init) }
            )
            @Sendable func step(_ reencrypt: @escaping @Sendable (EncryptedValue) -> EncryptedSecret?) async throws
                -> Int
            {
                try await tenant.store.reencrypt(
                    .mails,
                    of: place,
                    notUnder: "next",
                    among: ["key"],
                    limit: 10,
                    by: Tenant.actor,
                    reencrypt: reencrypt
                )
            }
            let count = try await step { mail in
                guard mail.key[0] != broken.description else { return nil }
                return EncryptedSecret(bytes: mail.secret.bytes + [4], keyID: "next")
            }
            #expect(count == 3)
            #expect(try await tenant.store.encrypted(.mails, of: place).map(\.keyID) == ["next"])
            #expect(try await tenant.states() == ["failed", "sending", "waiting"])
            #expect(try await step { _ in nil } == 0)
            let waiting = MailEnd.waiting(seconds: 0, problem: "x")
            #expect(try await tenant.store.settle(try #require(sending.first).id, as: waiting, of: tenant.application))
            #expect(try await tenant.claim().map(\.content.keyID) == ["next", "next"])
        }
    }

    @Test("whoever listens hears of a new mail")
    func announced() async throws {
        try await lend { tenant, user in
            let heard = Task<Bool, any Error> {
                var count = 0
                // The first announcement says that the listener is connected.
                for await _ in tenant.store.mailAnnouncements() {
                    count += 1
                    if count == 1 { _ = try await tenant.enqueue("a", for: user) }
                    if count == 2 { return true }
                }
                return false
            }
            let isHeard = try await heard.value
            #expect(isHeard)
        }
    }
}

extension Tenant {
    fileprivate func enqueue(_ event: String, for user: ObjectID) async throws -> Bool {
        try await store.enqueueMail(
            ObjectID(UUID()),
            event: event,
            content: EncryptedSecret(bytes: [1, 2, 3], keyID: "key"),
            user: user,
            of: application
        )
    }

    fileprivate func claim() async throws -> [ClaimedMail] { try await store.claimMails(of: application, limit: 10) }

    fileprivate func states() async throws -> [String] {
        try await database.psql("select state from \(Self.schema).mails order by 1").compactMap { $0.first ?? nil }
    }
}
