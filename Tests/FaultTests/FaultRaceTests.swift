import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultTests {
    /// The limits are long: this suite checks what is written, not how soon, even for a debug build on a busy machine.
    @Suite(
        "Many log in at once",
        .faulty(environment: [
            "FEDERATION_LOGIN_MILLISECONDS": "30000", "FEDERATION_GRAPH_CALL_MILLISECONDS": "25000",
            "FEDERATION_GRAPH_CONNECT_MILLISECONDS": "10000",
            "FEDERATION_DATABASE_LEASE_MILLISECONDS": "10000",
        ])
    )
    struct Races {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("F-30: two instances race on the first login of a person: one user, created by exactly one of them")
        func pairs() async throws {
            for visitor in try await faults.newcomers(100) {
                let attempts = try await faults.logIn([visitor, visitor])
                faults.expectAllLoggedIn(attempts)
                let signedIn = attempts.compactMap(\.signedIn)
                #expect(Set(signedIn.map(\.objectID)).count == 1)
                #expect(signedIn.filter(\.created).count == 1)
            }
            try await faults.checkInvariants()
        }

        @Test("25 people × 8 simultaneous first logins with the same token over two instances: 200 of 200, 25 users")
        func crowd() async throws {
            let before = try await counts()
            let visitors = try await faults.newcomers(25)
            let attempts = try await faults.logIn(visitors.flatMap { Array(repeating: $0, count: 8) })
            faults.expectAllLoggedIn(attempts)
            #expect(attempts.count == 200)
            let after = try await counts()
            #expect(after.users - before.users == 25)
            #expect(after.identities - before.identities == 25)
            #expect(Set(attempts.compactMap(\.signedIn?.objectID)).count == 25)
            #expect(attempts.compactMap(\.signedIn).filter(\.created).count == 25)
            try await faults.checkInvariants()
        }

        @Test(
            "F-31: 1000 simultaneous first logins of one person over two instances: one user, 1000 × the same objectId"
        )
        func onePerson() async throws {
            let before = try await counts()
            let visitor = try await faults.newcomers(1)[0]
            let attempts = try await faults.logIn(Array(repeating: visitor, count: 1000))
            faults.expectAllLoggedIn(attempts)
            let after = try await counts()
            #expect(after.users - before.users == 1)
            #expect(after.identities - before.identities == 1)
            let signedIn = attempts.compactMap(\.signedIn)
            #expect(signedIn.count == 1000)
            #expect(Set(signedIn.map(\.objectID)).count == 1)
            #expect(signedIn.filter(\.created).count == 1)
            #expect(Set(signedIn.map(\.token)).count == signedIn.count)
            noteMeasured("F-31", attempts.figure)
            try await faults.checkInvariants()
        }

        @Test("F-32: 1000 people log in for the first time at once: 1000 users, no error")
        func thousandPeople() async throws {
            let before = try await counts()
            let attempts = try await faults.logIn(try await faults.newcomers(1000))
            faults.expectAllLoggedIn(attempts)
            let after = try await counts()
            #expect(after.users - before.users == 1000)
            #expect(after.identities - before.identities == 1000)
            #expect(Set(attempts.compactMap(\.signedIn?.objectID)).count == 1000)
            noteMeasured("F-32", attempts.figure)
            try await faults.checkInvariants()
        }

        @Test("F-33: logins race with the operator who deletes the user: after that, no session of that user is left")
        func deletion() async throws {
            let visitor = try await faults.regulars(1)[0]
            let (attempts, deleted) = try await faults.whileLoggingIn(visitor) {
                var deleted: [String: ContinuousClock.Instant] = [:]
                while deleted.count < 25 {
                    let rows = try await faults.database.psql(
                        """
                        delete from demo.users u using demo.identities i
                        where i.object_id = u.object_id and i.subject = '\(visitor.id)' returning upper(u.object_id::text)
                        """
                    )
                    for user in rows.flatMap(\.self).compactMap(\.self) { deleted[user] = .now }
                    // Give logins a moment between deletions: a login that meets several deletions in a row is refused.
                    let past = await faults.ledger.all.count
                    while await faults.ledger.all.count < past + 8 { try await Task.sleep(for: .milliseconds(1)) }
                }
                return deleted
            }
            expectNobodyShutOut(attempts)
            for (user, end) in deleted {
                let late = attempts.filter { $0.start > end && $0.signedIn?.objectID == user }
                #expect(late.isEmpty, "a login of a user who was deleted before")
                await faults.ledger.forget(objectID: user)
            }
            let ids = deleted.keys.map { "'\($0)'" }.joined(separator: ", ")
            for table in ["identities", "sessions", "users"] {
                let left = try await faults.database.psql("select 1 from demo.\(table) where object_id in (\(ids))")
                #expect(left.isEmpty, "\(table) of a deleted user")
            }
            let gone = attempts.compactMap(\.signedIn).filter { deleted[$0.objectID] != nil }
            #expect(!gone.isEmpty)
            for signedIn in gone.shuffled().prefix(30) {
                let isLive = try await faults.isLive(signedIn.token, at: faults.instances[1])
                #expect(!isLive)
            }
            // The latest user of this identity remains, and every session of that user is checked, too.
            try await faults.checkInvariants()
        }

        @Test("F-33: logins race with the operator who disables the user: after that, no session of that user counts")
        func disabling() async throws {
            let visitor = try await faults.regulars(1)[0]
            let user = try await objectID(of: visitor)
            let (attempts, periods) = try await faults.whileLoggingIn(visitor) {
                var periods: [Range<ContinuousClock.Instant>] = []
                for _ in 0..<12 {
                    try await setStatus("DISABLED", of: user)
                    let start = ContinuousClock.now
                    // Sessions opened before or during the disabling are invalid.
                    for session in await faults.ledger.all.suffix(4) {
                        let isLive = try await faults.isLive(session.token, at: faults.instances[1])
                        #expect(!isLive)
                    }
                    periods.append(start..<ContinuousClock.now)
                    try await setStatus("ENABLED", of: user)
                }
                return periods
            }
            expectNobodyShutOut(attempts, but: ["account_disabled"])
            #expect(Set(attempts.compactMap(\.signedIn?.objectID)) == [user], "a disabled user is nobody new")
            for period in periods {
                // Attempts that started and ended while the user was disabled.
                let inside = attempts.filter { period.contains($0.start) && period.contains($0.start + $0.elapsed) }
                #expect(inside.allSatisfy { $0.problem == "account_disabled" })
            }
            // Once the user is enabled, all sessions are valid again.
            try await faults.checkInvariants()
        }

        @Test(
            "F-27: a login that met another transaction (40001, 40P01) runs again, and its client learns nothing of it"
        )
        func collisions() async throws {
            // A sequence is not rolled back.
            try await faults.database.psql(
                """
                create sequence collisions;
                create function collide() returns trigger language plpgsql as $body$
                begin
                    case nextval('collisions') % 6
                        when 0 then raise exception 'collision' using errcode = '40001';
                        when 3 then raise exception 'collision' using errcode = '40P01';
                        else return new;
                    end case;
                end $body$;
                create trigger collide before insert on demo.sessions for each row execute function collide();
                """
            )
            var attempts: [LoginAttempt] = []
            for visitor in try await faults.newcomers(40) {
                for instance in faults.instances { attempts.append(try await faults.logIn(visitor, at: instance)) }
            }
            faults.expectAllLoggedIn(attempts)
            // One of three inserts met a collision, and no retry did.
            #expect(try await faults.instances[0].value("select last_value from collisions") == "119")
            try await faults.database.psql("drop function collide cascade; drop sequence collisions")
            try await faults.checkInvariants()
        }

        /// Expects that races of an operator with logins fail at most one login in a hundred.
        private func expectNobodyShutOut(_ attempts: [LoginAttempt], but expected: Set<String> = []) {
            let problems = attempts.problems.filter { !expected.contains($0.key) }
            #expect(Set(problems.keys).isSubset(of: ["store_unavailable"]), "\(problems)")
            #expect(problems.values.reduce(0, +) * 100 <= attempts.count, "\(problems) of \(attempts.count)")
        }

        private func setStatus(_ status: String, of user: String) async throws {
            try await faults.database.psql(
                "update demo.users set user_status = '\(status)' where object_id = '\(user)'"
            )
        }

        private func objectID(of visitor: Visitor) async throws -> String {
            let sql = "select upper(object_id::text) from demo.identities where subject = '\(visitor.id)'"
            return try #require(try await faults.instances[0].value(sql))
        }

        private func counts() async throws -> (users: Int, identities: Int) {
            let rows = try await faults.database.psql(
                "select (select count(*) from demo.users), (select count(*) from demo.identities)"
            )
            let counts = rows.flatMap(\.self).compactMap { $0.flatMap { Int($0) } }
            try #require(counts.count == 2)
            return (counts[0], counts[1])
        }
    }
}
