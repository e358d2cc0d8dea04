import Domain
import Store
import Testing
import TestSupport

@Suite("People changed while they log in")
struct PeopleRaceTests {
    @Test("F-33: erased among eight logins, a person is gone or came back as a complete new user")
    func erase() async throws {
        try await Tenant.lend { tenant in
            for round in 0..<25 {
                let subject = String(3000 + round)
                let id = try await tenant.login(subject, writing: .text("a"), to: "nick", .untilEdited).user.objectID
                let logins = try await tenant.logins(of: subject) {
                    try await tenant.change(id, .erase(banningBy: Tenant.hash))
                }

                #expect(try await tenant.store.storedUser(id, of: tenant.application) == nil)
                var fresh: Set<ObjectID> = []
                for (hash, outcome) in logins {
                    let user = try outcome.get()
                    let session = try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()
                    // A login before the erasure lost its session to it; all later ones belong to the new user.
                    #expect(session?.objectID == (user == id ? nil : user))
                    if user != id { fresh.insert(user) }
                }
                #expect(fresh.count <= 1)
                #expect(try await tenant.users(with: subject) == fresh.map(\.description))
            }
            // There is no user without an identity, and no identity without a user.
            let halves = try await tenant.database.psql(
                """
                select count(*) filter (where i.object_id is null), count(*) filter (where u.object_id is null),
                    count(*) filter (where s.object_id is null)
                from \(Tenant.schema).users u full join \(Tenant.schema).identities i using (object_id)
                left join (select distinct object_id from \(Tenant.schema).sessions) s using (object_id)
                """
            )
            #expect(halves == [["0", "0", "0"]])
        }
    }

    @Test("disabled among eight logins, a person has no session afterwards and none can come")
    func disable() async throws {
        try await Tenant.lend { tenant in
            for round in 0..<25 {
                let subject = String(4000 + round)
                let id = try await tenant.login(subject, writing: .text("a"), to: "nick", .untilEdited).user.objectID
                let logins = try await tenant.logins(of: subject) { try await tenant.change(id, .setStatus(.disabled)) }

                for (hash, outcome) in logins {
                    switch outcome {
                    case .success(let user): #expect(user == id)
                    case .failure(let failure): #expect(failure.reason == .accountDisabled)
                    }
                    #expect(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() == nil)
                }
                #expect(try await tenant.users(with: subject) == [id.description])
                #expect(try await tenant.count("sessions") == "0")
            }
        }
    }

    @Test("an identity taken away among eight logins by it leads to a new user or nowhere, never back")
    func unlink() async throws {
        try await Tenant.lend { tenant in
            for round in 0..<25 {
                let subject = String(5000 + round)
                let id = try await tenant.login(subject, writing: nil, to: "nick", .always).user.objectID
                try await tenant.link(app: "43", subject: subject, to: id)
                let unlink = UserChange.unlink(provider: "facebook", app: "42", subject: subject)
                let logins = try await tenant.logins(of: subject) { try await tenant.change(id, unlink) }

                let fresh = Set(try logins.map { try $0.outcome.get() }).subtracting([id])
                #expect(fresh.count <= 1)
                #expect(try await tenant.users(with: subject) == fresh.map(\.description))
                #expect(try await tenant.store.storedUser(id, of: tenant.application)?.identities.map(\.app) == ["43"])
            }
        }
    }

    @Test("an identity that becomes another user's while its login waits brings nothing of the former user's along")
    func moved() async throws {
        try await Tenant.lend { tenant in
            let subject = "1001"
            let former = try await tenant.login(subject, writing: .text("former"), to: "nick", .always).user.objectID
            let owner = try await tenant.login("1002", writing: .text("owner"), to: "nick", .always).user.objectID
            try await tenant.whileWaiting(
                for: former,
                """
                delete from \(Tenant.schema).identities where subject = '\(subject)';
                insert into \(Tenant.schema).identities (provider, provider_app, subject, object_id)
                values ('facebook', '42', '\(subject)', '\(owner)')
                """
            ) {
                let login = try await tenant.login(subject, writing: .text("new"), to: "nick", .ifEmpty)
                #expect(login.user.objectID == owner)
                #expect(login.user.value("nick") == .text("owner"))
            }
        }
    }

    @Test("a value that another login wrote while this one waited does not count as edited")
    func overtaken() async throws {
        try await Tenant.lend { tenant in
            let subject = "1001"
            let user = try await tenant.login(subject, writing: .text("A"), to: "nick", .untilEdited).user.objectID
            try await tenant.whileWaiting(
                for: user,
                """
                update \(Tenant.schema).users set nick = 'B' where object_id = '\(user)';
                update \(Tenant.schema).identities set written = '{"nick":"B"}' where subject = '\(subject)'
                """
            ) {
                _ = try await tenant.login(subject, writing: .text("C"), to: "nick", .untilEdited)
            }
            let login = try await tenant.login(subject, writing: .text("D"), to: "nick", .untilEdited)
            #expect(login.user.value("nick") == .text("D"))
        }
    }

    @Test("two operators at once: one erases, the other one is told that there is no such user")
    func twoErase() async throws {
        try await Tenant.lend { tenant in
            for round in 1...10 {
                let id = try await tenant.login(String(round), writing: nil, to: "nick", .always).user.objectID
                let outcomes = await withTaskGroup(of: Failure.Reason?.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            do {
                                _ = try await tenant.change(id, .erase(banningBy: Tenant.hash))
                                return nil
                            } catch { return (error as? Failure)?.reason ?? .internal }
                        }
                    }
                    return await group.reduce(into: [Failure.Reason?]()) { $0.append($1) }
                }
                #expect(outcomes.filter { $0 == nil }.count == 1)
                #expect(outcomes.filter { $0 == .notFound }.count == 3)
            }
        }
    }

    @Test("two operators take one of two identities each: the one who comes second sees the last one and refuses")
    func lastIdentity() async throws {
        struct IsLast: Error {}
        try await Tenant.lend { tenant in
            for round in 0..<10 {
                let subject = String(6000 + round)
                let id = try await tenant.login(subject, writing: nil, to: "nick", .always).user.objectID
                try await tenant.link(app: "43", subject: subject, to: id)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for app in ["42", "43"] {
                        group.addTask {
                            do {
                                _ = try await tenant.store.change(
                                    id,
                                    of: tenant.application,
                                    by: Tenant.actor
                                ) { person in
                                    guard person.identities.count > 1 else { throw IsLast() }
                                    return .unlink(provider: "facebook", app: app, subject: subject)
                                }
                            } catch is IsLast {}
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await tenant.store.storedUser(id, of: tenant.application)?.identities.count == 1)
            }
        }
    }

    @Test("a session that is looked at does not wait for whoever holds its row")
    func lookingDoesNotWait() async throws {
        try await Tenant.lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await tenant.login(writing: nil, to: "nick", .always, hash: hash)
            try await tenant.database.psql("update \(Tenant.schema).sessions set last_seen = now() - interval '1 hour'")
            let held = "select from \(Tenant.schema).sessions for update"
            try await tenant.database.whileLocked(held) {
                let user = try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()
                #expect(user != nil)
            }
            #expect(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() != nil)
            let seen = try await tenant.database.psql(
                "select last_seen > now() - interval '1 minute' from \(Tenant.schema).sessions"
            )
            #expect(seen == [["t"]])
        }
    }
}

extension Tenant {
    /// Runs eight logins of one user around a change, and returns the token hash and outcome of each.
    func logins<Change: Sendable>(
        of subject: String,
        around change: @escaping @Sendable () async throws -> Change
    ) async throws -> [(hash: [UInt8], outcome: Result<ObjectID, Failure>)] {
        try await withThrowingTaskGroup(of: ([UInt8], Result<ObjectID, Failure>)?.self) { group in
            for place in 0..<9 {
                group.addTask {
                    // The change is in the middle of the queue, with logins before and after it.
                    if place == 4 {
                        _ = try await change()
                        return nil
                    }
                    let hash = Tenant.randomHash()
                    do {
                        let value = PropertyValue.text("a")
                        let written = try await login(subject, writing: value, to: "nick", .untilEdited, hash: hash)
                        return (hash, .success(written.user.objectID))
                    } catch let failure as Failure { return (hash, .failure(failure)) }
                }
            }
            return try await group.reduce(into: []) { logins, login in
                if let login { logins.append((login.0, login.1)) }
            }
        }
    }

    /// Returns the ids of the users who have the subject at the app of the logins.
    func users(with subject: String) async throws -> [String] {
        try await database.psql(
            """
            select upper(u.object_id::text) from \(Self.schema).identities i join \(Self.schema).users u using (object_id)
            where i.provider_app = '42' and i.subject = '\(subject)'
            """
        ).compactMap { $0.first ?? nil }
    }
}
