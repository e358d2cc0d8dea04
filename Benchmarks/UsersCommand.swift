import ArgumentParser
import TestSupport

/// A measurement of the cost of a login among many users.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Logins among few and among many users, in turns: processor time, and the write-ahead log.",
        discussion: """
            Each user has an identity at Facebook and a live session, which SQL has written. Those who log in are \
            spread evenly over the tables. Before each measurement comes a checkpoint, and then a login of everybody: \
            what counts as images of pages is of indexes of sessions, where each login comes to another place.
            """
    )

    @Option(help: "Numbers of users; the first is what the others are compared with.")
    var counts = [10_000, 1_000_000, 5_000_000, 10_000_000]
    @Option(help: "People who log in again and again.")
    var people = 2000
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        var targets: [Target] = []
        for count in counts {
            let numbers = stride(from: 0, to: count, by: max(1, count / people)).prefix(people)
            let world = try await People.make(numbers, control: control)
            let installation = try await Installation.make(
                "users_\(count)",
                setting,
                program: nil,
                ["FEDERATION_MAINTENANCE_ENABLED": "false"]
            )
            try await installation.apply(Setting.document)
            let service = try await installation.start()
            let load = Load(port: service.client.port, requests: world.logins())
            let target = Target(name: "\(count) users", process: service.process, load: load)
            try target.check(await Load(ports: load.ports, requests: [load.requests[0]]).once(connections: 1))
            try await Self.fill(installation.database, count)
            try target.check(await load.once(connections: connections))
            let users = "select count(*) from \(Setting.application).users"
            guard try await installation.database.rows(of: users) == [[String(count)]] else {
                throw WrongReplies(name: "a login of somebody who was there", replies: [:], output: "made a new user")
            }
            targets.append(target)
        }
        var costs: Costs = [:]
        for _ in 0..<rounds {
            for target in targets {
                try await Database(url: setting.databaseURL).rows(of: "checkpoint")
                try target.check(await target.load.once(connections: connections))
                let cost = try await target.cost(setting) {
                    await $0.closedLoop(connections: connections, seconds: seconds)
                }
                costs[target.name, default: []].append(cost)
            }
        }
        let report = Report()
        report.costs(
            "Logins of \(people) people among many; \(connections) connections; \(rounds) rounds of \(seconds) s",
            costs,
            order: targets.map(\.name)
        )
        for target in targets.dropFirst() {
            for (what, value) in [("CPU", \Cost.process), ("PostgreSQL's CPU", \Cost.database)] {
                report.aim(
                    "\(what) of a login among \(target.name) over \(targets[0].name)",
                    costs.ratios(of: target.name, to: targets[0].name) { $0[keyPath: value] },
                    atMost: 1.15
                )
            }
        }
        for target in targets { _ = try await target.process.terminate() }
    }

    func validate() throws {
        guard people > 0, rounds > 0, connections > 0, counts.allSatisfy({ $0 >= people }) else {
            throw ValidationError("Every number must be at least 1, and each of --counts at least that of --people.")
        }
    }

    /// Adds users up to `count`; each differs from the existing user only in the number.
    ///
    /// All keys grow with the user's number, so that rows go to the ends of the indexes, which makes ten million users
    /// possible within minutes. Foreign keys hold by construction and are not checked, for the same reason. Keys are
    /// spread over all their possible values, as random keys are.
    static func fill(_ database: Database, _ count: Int) async throws {
        let schema = Setting.application
        let batch = 250_000
        // The place of user n among all keys, in hexadecimal digits; `named` puts user n in place of user 0.
        let place = "lpad(to_hex(n * (4294967295 / \(count))), 8, '0') || md5(n::text)"
        func named(_ text: String) -> String {
            "replace(replace(\(text), 'Given0', 'Given' || n), 'Family0', 'Family' || n)"
        }
        for first in stride(from: 1, to: count, by: batch) {
            let people = "generate_series(\(first), \(min(first + batch, count) - 1)) n"
            try await database.rows(
                of: """
                    set session_replication_role = replica;
                    insert into \(schema).users (
                        object_id, email, email_verified, name, user_status, social_account, created, updated,
                        last_login, locale, dynamic, "givenName", "familyName", avatar, birthday, "ageFrom", city,
                        gender, greeting)
                    select left(\(place), 32)::uuid, 'person' || n || '@example.com', email_verified,
                        \(named("name")), user_status, social_account, created, updated, last_login, locale, dynamic,
                        \(named("\"givenName\"")), \(named("\"familyName\"")), avatar, birthday, "ageFrom", city, gender,
                        \(named("greeting"))
                    from \(people), \(schema).users where email = 'person0@example.com';
                    insert into \(schema).identities (
                        provider, provider_app, subject, object_id, created, last_used, granted_scopes,
                        data_access_expires, written, declined_scopes)
                    select provider, provider_app, (subject::bigint + n)::text, left(\(place), 32)::uuid, created,
                        last_used, granted_scopes, data_access_expires, \(named("written::text"))::jsonb,
                        declined_scopes
                    from \(people), \(schema).identities where subject = '\(People.subject(0))';
                    insert into \(schema).sessions (
                        token_hash, object_id, last_seen, expires, provider, provider_app, subject, proved)
                    select decode(left(\(place) || md5(n::text), 64), 'hex'), left(\(place), 32)::uuid,
                        now() - interval '1 day' + n * interval '1 day' / \(count),
                        now() + interval '1 day' + n * interval '1 day' / \(count),
                        provider, provider_app, (subject::bigint + n)::text, proved
                    from \(people), (select * from \(schema).sessions where subject = '\(People.subject(0))' limit 1) s;
                    """
            )
        }
        try await database.rows(of: "vacuum analyze")
    }
}
