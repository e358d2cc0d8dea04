import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultDeployment {
    /// Checks what must hold after every fault, once the fault has ended (docs/security.md#when-a-part-breaks).
    ///
    /// - I7: without a restart both instances soon serve as before.
    /// - I1: each identity has one user and each user one identity, and no row is half-written.
    /// - I2: every session from a response of 200 is valid at both instances, for the user in the response; checked for
    ///   the sessions since the last check of the ``ledger``.
    /// - I3: for each of these sessions Facebook was asked about the token, and for the profile, with a proof, and said
    ///   yes.
    /// - I4: responses have an order: one login creates a user, and no login of that user ended before.
    /// - I5: no secret and no token is readable in the database; logs are searched when an instance has ended.
    /// - I6: both processes are the same, with memory, descriptors and database sessions within bounds.
    ///
    /// I8, that every response is a documented one, is checked at each response.
    ///
    /// - Parameters:
    ///   - extraMemory: The allowed growth of memory since before the first fault.
    ///   - sourceLocation: The location of the test.
    /// - Throws: An error when nothing is left to check.
    func checkInvariants(
        extraMemory: Int = 128 << 20,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await simulator.heal()
        try await expectRecovery(sourceLocation: sourceLocation)
        try await expectWholeUsers(sourceLocation: sourceLocation)
        let sessions = await ledger.take()
        try await expectLive(sessions, sourceLocation: sourceLocation)
        try await expectVerified(sessions, sourceLocation: sourceLocation)
        expectOrder(of: sessions, sourceLocation: sourceLocation)
        try await expectNoSecrets(sourceLocation: sourceLocation)
        try await expectBoundedResources(extraMemory: extraMemory, sourceLocation: sourceLocation)
    }

    /// Checks I7: both instances serve as before.
    private func expectRecovery(sourceLocation: SourceLocation) async throws {
        let visitor = try await newcomers(1)
        for instance in instances {
            try #require(instance.service.process.isRunning, "the service must survive", sourceLocation: sourceLocation)
            try await eventually("logins succeed again", every: .milliseconds(100)) {
                try await logIn(visitor[0], at: instance).signedIn != nil
            }
        }
        expectAllLoggedIn(
            try await logIn(Array(repeating: visitor[0], count: 10)),
            "what succeeds once succeeds always",
            sourceLocation: sourceLocation
        )
    }

    /// Checks I1: identities and users belong to each other.
    ///
    /// The schema's keys guarantee that no identity lacks a user or is duplicated; here both are counted.
    private func expectWholeUsers(sourceLocation: SourceLocation) async throws {
        let rows = try await database.psql(
            """
            select 'users without one identity', count(*) from demo.users u
                where (select count(*) from demo.identities i where i.object_id = u.object_id) <> 1
            union all select 'identities without user', count(*) from demo.identities i
                where not exists (select from demo.users u where u.object_id = i.object_id)
            union all select 'identities beyond one a person',
                count(*) - count(distinct (provider, provider_app, subject)) from demo.identities
            union all select 'sessions without user', count(*) from demo.sessions s
                where not exists (select from demo.users u where u.object_id = s.object_id)
            union all select 'half-written users', count(*) from demo.users
                where last_login is null or social_account is null or email is null or "givenName" is null
            """
        )
        #expect(rows.count == 5)
        for row in rows {
            #expect(row.last == "0", "\(row.first.flatMap(\.self) ?? "")", sourceLocation: sourceLocation)
        }
    }

    /// Checks I2: the sessions are valid.
    private func expectLive(_ sessions: [Ledger.Session], sourceLocation: SourceLocation) async throws {
        let identities = try await database.psql("select subject, upper(object_id::text) from demo.identities")
        let users = Dictionary(identities.map { ($0.first ?? nil, $0.last ?? nil) }) { first, _ in first }
        let strangers = sessions.filter { users[$0.visitor.id] != $0.objectID }
        #expect(strangers.count == 0, "a session of a user who is not the person's", sourceLocation: sourceLocation)

        // PostgreSQL is asked about all sessions, the instances, which only ask PostgreSQL, about some.
        var live = 0
        for chunk in stride(from: 0, to: sessions.count, by: 1000) {
            let tokens = sessions[chunk..<min(chunk + 1000, sessions.count)].map(\.token).joined(separator: ",")
            let rows = try await database.psql(
                """
                select count(*) from demo.sessions where expires > now()
                    and token_hash in (select sha256(convert_to(token, 'UTF8')) from unnest('{\(tokens)}'::text[]) token)
                """
            )
            live += rows.first?.first.flatMap(\.self).flatMap { Int($0) } ?? 0
        }
        #expect(live == sessions.count, "sessions that clients were given are lost", sourceLocation: sourceLocation)
        for (index, session) in sessions.shuffled().prefix(50).enumerated() {
            let isLive = try await isLive(session.token, at: instances[index % instances.count])
            #expect(isLive, "a session that a client was given", sourceLocation: sourceLocation)
        }
    }

    /// Whether an instance reports a session as valid.
    func isLive(_ token: String, at instance: Deployment) async throws -> Bool {
        let reply = try await instance.get("users/isvalidusertoken/\(token)")
        try #require(reply.status == 200, "\(reply.text)")
        return reply.text == "true"
    }

    /// Checks I3: Facebook confirmed the logins.
    private func expectVerified(_ sessions: [Ledger.Session], sourceLocation: SourceLocation) async throws {
        var asked: [String: Set<String>] = ["debug_token": [], "me": []]
        let since = await ledger.lastRequest
        let requests = try await simulator.counter("requests")
        await ledger.noteRequest(requests)
        // The simulator keeps 10,000 requests; with more, the check is skipped.
        guard requests - since <= 10_000 else { return }
        for path in asked.keys {
            let log = try await simulator.control.get("/requests?path=\(path)&since=\(since)")
            let requests = try #require(JSON.value(log.text)?.array).compactMap(\.object)
            for request in requests where request["status"]?.integer == 200 {
                func value(_ name: String, in list: String) -> String? {
                    (request[list]?.array ?? []).compactMap(\.array).first { $0.first?.string == name }?.last?.string
                }
                guard value("appsecret_proof", in: "parameters") != nil else { continue }
                let token =
                    path == "me"
                    ? value("Authorization", in: "headers").map { String($0.dropFirst("Bearer ".count)) }
                    : value("input_token", in: "parameters")
                if let token { asked[path]?.insert(token) }
            }
        }
        for path in asked.keys {
            let unverified = sessions.count { asked[path]?.contains($0.visitor.token) == false }
            #expect(unverified == 0, "sessions without a yes of \(path)", sourceLocation: sourceLocation)
        }
    }

    /// Checks I4: the responses have an order.
    private func expectOrder(of sessions: [Ledger.Session], sourceLocation: SourceLocation) {
        for (user, sessions) in Dictionary(grouping: sessions, by: \.objectID) {
            let makers = sessions.filter(\.created)
            #expect(makers.count <= 1, "\(user) was made more than once", sourceLocation: sourceLocation)
            guard let maker = makers.first else { continue }
            let before = sessions.count { !$0.created && $0.period.upperBound < maker.period.lowerBound }
            #expect(before == 0, "\(user) was there before it was made", sourceLocation: sourceLocation)
        }
    }

    /// Checks I5: the database contains no readable secret.
    private func expectNoSecrets(sourceLocation: SourceLocation) async throws {
        let columns = try await database.psql(
            "select canaries('canary-secret-of', 'canary_key', 'canary-master-key', 'EAAcanary')"
        )
        #expect(columns == [], "a secret in the database", sourceLocation: sourceLocation)
    }

    /// Checks I6: resources are within bounds.
    private func expectBoundedResources(extraMemory: Int, sourceLocation: SourceLocation) async throws {
        for (instance, before) in zip(instances, baseline) {
            let now = try instance.service.process.usage()
            #expect(
                now.residentBytes < before.residentBytes + extraMemory,
                "\(before.residentBytes >> 20) MB have become \(now.residentBytes >> 20) MB",
                sourceLocation: sourceLocation
            )
            // Connections to Graph are kept for the next call, as many as there were concurrent calls.
            let kept = try await simulator.counter("openConnections")
            try await eventually("descriptors of the clients are closed") {
                try instance.service.process.usage().openDescriptors <= before.openDescriptors + kept + 10
            }
        }
        let rows = try await database.psql(
            """
            select count(*) filter (where state like 'idle in transaction%' and now() - state_change > interval '5 s'),
                count(*) from pg_stat_activity where application_name = 'federation' and datname = current_database()
            """
        )
        let counts = try #require(rows.first).compactMap { $0.flatMap { Int($0) } }
        try #require(counts.count == 2)
        #expect(counts[0] == 0, "sessions idle in a transaction", sourceLocation: sourceLocation)
        // Four for logins and as many for waiting ones, of which these faults need three; one for searches.
        #expect(counts[1] <= instances.count * 9, "connections to PostgreSQL", sourceLocation: sourceLocation)
    }
}
