@testable import ServerTestSupport
import Testing
import TestSupport

/// The queues that all applications share, while one application, or one source of one, uses as much as it can.
@Suite(
    "Shared queues",
    .serialized,
    .deployed(
        Document(hasServerKey: true, properties: #"{"city": {"type": "STRING"}}"#),
        Document(
            application: "shop",
            keyVariable: "OTHER_API_KEY",
            settings: #"{"collection": {"find": ["users"]}}"#
        ),
        environment: [
            "FEDERATION_TRUSTED_PROXIES": "1", "FEDERATION_LIMIT_PASSWORD_SOURCE": "off",
            "FEDERATION_LIMIT_PASSWORD_NETWORK": "off", "FEDERATION_PASSWORD_HASHES": "1",
            "FEDERATION_PASSWORD_QUEUE": "8", "FEDERATION_CONCURRENT_SEARCHES": "1",
            "FEDERATION_SEARCH_MILLISECONDS": "1000", "FEDERATION_DATABASE_LOCK_MILLISECONDS": "60000",
        ]
    )
)
struct SharedQueueTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Sends a request repeatedly and concurrently until the body ends.
    private func hammering(
        _ count: Int,
        _ request: @escaping @Sendable (Int) async throws -> HTTPReply,
        while body: () async throws -> Void
    ) async throws -> [Int: Int] {
        let hammers = (0..<count).map { number in
            Task {
                var statuses: [Int: Int] = [:]
                do {
                    while !Task.isCancelled { statuses[try await request(number).status, default: 0] += 1 }
                } catch {
                    if !Task.isCancelled { throw error }
                }
                return statuses
            }
        }
        defer { for hammer in hammers { hammer.cancel() } }
        try await body()
        for hammer in hammers { hammer.cancel() }
        var statuses: [Int: Int] = [:]
        for hammer in hammers { statuses.merge(try await hammer.value, uniquingKeysWith: +) }
        return statuses
    }

    private func logIn(_ email: String, from source: String, to document: Document? = nil) async throws -> HTTPReply {
        try await deployment.send(
            "POST",
            "users/login",
            #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#,
            to: document,
            headers: [("X-Forwarded-For", source)]
        )
    }

    /// Expects that a login succeeds, if necessary at a retry.
    ///
    /// Hashing has a low priority, so a login on a busy machine may take too long.
    private func expectLogin(_ email: String, from source: String, to document: Document? = nil) async throws {
        var reply = try await logIn(email, from: source, to: document)
        if reply.status == 503 { reply = try await logIn(email, from: source, to: document) }
        #expect(reply.status == 200, "\(reply.text)")
    }

    @Test("logins by password of another application, and of another source, succeed while one source hammers")
    func passwords() async throws {
        let shop = deployment.documents[1]
        for number in 0..<12 { _ = try await deployment.register("hammer\(number).canary@example.com") }
        _ = try await deployment.register("quiet.canary@example.com")
        _ = try await deployment.register("customer.canary@example.com", to: shop)
        // Two concurrent logins per account: more would count as guesses.
        let statuses = try await hammering(24) { number in
            try await logIn("hammer\(number % 12).canary@example.com", from: "203.0.113.7")
        } while: {
            try await eventually("the queue is full") {
                try await logIn("hammer0.canary@example.com", from: "203.0.113.7").status == 503
            }
            for _ in 0..<10 {
                try await expectLogin("customer.canary@example.com", from: "198.51.100.1", to: shop)
                try await expectLogin("quiet.canary@example.com", from: "198.51.100.2")
            }
        }
        #expect(statuses[503] ?? 0 > 0, "the queue was not full: \(statuses)")
    }

    @Test("searches of another application succeed while those of one are slow on end")
    func searches() async throws {
        let shop = deployment.documents[1]
        _ = try await deployment.register("searcher.canary@example.com", to: shop)
        let session = try await deployment.logIn("searcher.canary@example.com", to: shop)
        _ = try await deployment.database.whileLocked("lock table demo.users") {
            try await hammering(4) { _ in
                try await deployment.send(
                    "POST",
                    "data/Users/find",
                    #"{"where": "city = 'x'"}"#,
                    key: Canary.serverAPIKey
                )
            } while: {
                try await eventually("a search is under way") {
                    try await deployment.database.psql(
                        "select 1 from pg_stat_activity where query like '%.users u%' and wait_event_type = 'Lock'"
                    ).count == 1
                }
                for _ in 0..<5 {
                    let found = try await deployment.send(
                        "POST",
                        "data/Users/find",
                        #"{"where": "objectId is not null"}"#,
                        token: session.token,
                        to: shop
                    )
                    #expect(found.status == 200, "\(found.text)")
                }
            }
        }
    }
}
