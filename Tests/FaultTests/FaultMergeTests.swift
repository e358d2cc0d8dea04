import Encodings
import Glibc
import Synchronization
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("An instance is killed while accounts become one and two again")
    struct Merge {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        /// The number of kills; `scripts/test --all` kills as often as the fault matrix requires.
        private static let rounds = getenv("FEDERATION_TEST_LONG") == nil ? 8 : 50

        /// An application of this suite, since the invariants check that the others' users have one identity each.
        private static let merging = Document(
            application: "merging",
            settings: #"{"roles": ["Editor"]}"#,
            mapping: #"{"email": "email"}"#
        )

        /// Two people who are one human; the first one has a role.
        private struct Pair {
            let first: Visitor
            let second: Visitor
        }

        /// The number of completed merges and separations.
        private final class Changes: Sendable {
            private let number = Mutex(0)

            var count: Int { number.withLock { $0 } }

            func add() { number.withLock { $0 += 1 } }
        }

        private func pairs(_ count: Int) async throws -> [Pair] {
            var pairs: [Pair] = []
            for number in 0..<count {
                let instance = faults.instances[0]
                let first = try await instance.newcomer(#"{"email": "m\#(number).canary@example.com"}"#)
                let second = try await instance.newcomer(#"{"email": "n\#(number).canary@example.com"}"#)
                let user = try await instance.loggedIn(first, to: Self.merging)
                _ = try await instance.loggedIn(second, to: Self.merging)
                try await faults.database.psql(
                    "insert into merging.user_roles (object_id, role) values ('\(user.objectID)', 'Editor')"
                )
                pairs.append(Pair(first: first, second: second))
            }
            return pairs
        }

        /// Merges both and separates them, again and again, until the instance is gone.
        ///
        private func mergeAndSeparate(_ pair: Pair, at instance: Deployment, counting changes: Changes) async throws {
            let owner = try await faults.instances[0].admin()
            let admin = instance.admin(token: owner.token)
            while true {
                do {
                    let first = try await instance.loggedIn(pair.first, to: Self.merging)
                    let second = try await instance.loggedIn(pair.second, to: Self.merging)
                    let merged = try await instance.send(
                        "POST",
                        "users/merge",
                        #"{"userToken": "\#(second.token)", "keep": "this"}"#,
                        token: first.token,
                        to: Self.merging
                    )
                    #expect(merged.status == 200, "\(merged.text)")
                    changes.add()
                    let separated = try await admin.send(
                        "POST",
                        "applications/merging/merged/\(second.objectID)/undo",
                        #"{"reason": "a test"}"#
                    )
                    #expect(separated.status == 200 || separated.status == 204, "\(separated.text)")
                    changes.add()
                } catch is HTTPFailure {
                    return
                }
            }
        }

        /// Requires that each pair is two whole accounts or one: each identity has one user, and each role.
        ///
        /// - Returns: The users who are merged at the moment.
        private func expectWhole(_ pairs: [Pair]) async throws -> [String] {
            let rows = try await faults.database.psql(
                """
                select 'identities', count(*) from merging.identities i join merging.users u using (object_id)
                union all select 'users', (select count(*) from merging.users)
                    + (select count(*) from merging.merged_users where record is not null)
                union all select 'roles', count(*) from merging.user_roles r join merging.users u using (object_id)
                union all select 'merged users who exist', count(*) from merging.merged_users m
                    where exists (select from merging.users u where u.object_id = m.object_id)
                        or not exists (select from merging.users u where u.object_id = m.survivor)
                union all select 'users without their identities', count(*) from merging.users u
                    where (select count(*) from merging.identities i where i.object_id = u.object_id)
                        <> 1 + (select count(*) from merging.merged_users m where m.survivor = u.object_id)
                union all select 'survivors without the role', count(*) from merging.merged_users m
                    where not exists (select from merging.user_roles r where r.object_id = m.survivor)
                """
            )
            let counts = Dictionary(uniqueKeysWithValues: rows.map { ($0[0] ?? "", $0[1].flatMap { Int($0) } ?? -1) })
            #expect(
                counts == [
                    "identities": 2 * pairs.count, "users": 2 * pairs.count, "roles": pairs.count,
                    "merged users who exist": 0, "users without their identities": 0, "survivors without the role": 0,
                ]
            )
            return try await faults.database.psql("select upper(object_id::text) from merging.merged_users")
                .compactMap { $0[0] }
        }

        @Test("F-37: SIGKILL within merges under load: two whole accounts or one, and what was merged is separated")
        func killed() async throws {
            try await Self.merging.apply(to: faults.database)
            let pairs = try await pairs(4)
            let admin = try await faults.instances[0].admin()
            var (changes, within) = (0, 0)
            for round in 0..<Self.rounds {
                try await faults.withInstance { instance in
                    let ofRound = Changes()
                    try await withThrowingTaskGroup { group in
                        for pair in pairs {
                            group.addTask { try await mergeAndSeparate(pair, at: instance, counting: ofRound) }
                        }
                        // The load is on, however long that takes; then each round's kill meets another moment.
                        try await eventually("two accounts are one") { ofRound.count > 0 }
                        try await Task.sleep(for: .milliseconds(7 * round))
                        try await instance.service.process.kill()
                        try await group.waitForAll()
                    }
                    changes += ofRound.count
                }
                try await eventually("PostgreSQL has ended what the instance had begun") {
                    try await faults.database.psql(
                        """
                        select from pg_stat_activity
                        where datname = current_database() and application_name = 'federation'
                            and (state = 'active' or state like 'idle in transaction%') and query like '%merging%'
                        """
                    ).isEmpty
                }
                let merged = try await expectWhole(pairs)
                within += merged.count
                for user in merged {
                    let separated = try await admin.send(
                        "POST",
                        "applications/merging/merged/\(user)/undo",
                        #"{"reason": "a test"}"#
                    )
                    #expect(separated.status == 200 || separated.status == 204, "round \(round): \(separated.text)")
                }
                #expect(try await expectWhole(pairs).isEmpty)
            }
            #expect(changes > 0)
            noteMeasured(
                "F-37",
                "\(Self.rounds) times killed within merges, \(changes) done before; \(within) accounts were one then"
            )
        }
    }
}
