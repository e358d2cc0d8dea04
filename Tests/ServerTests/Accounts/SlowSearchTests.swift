import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// A lock on the users table simulates more users than a search can read in its time.
@Suite(
    "Searches that take long",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings: #"{"collection": {"readOthers": ["users"]}, "firebase": {"projectId": "canary-project"}}"#,
            properties: #"{"city": {"type": "STRING"}, "age": {"type": "INT", "indexed": true}}"#
        ),
        environment: [
            "FEDERATION_CONCURRENT_SEARCHES": "1", "FEDERATION_SEARCH_MILLISECONDS": "3000",
            "FEDERATION_DATABASE_LOCK_MILLISECONDS": "20000", "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "200",
            "FEDERATION_PUBLIC_URL": "https://users.example.com",
        ]
    )
)
struct SlowSearchTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func find(_ body: String) async throws -> HTTPReply {
        try await deployment.send("POST", "data/Users/find", body, key: Canary.serverAPIKey)
    }

    @Test(
        "one beyond those under way is overloaded, and one that is not done in its time is ended, with what would help"
    )
    func bounds() async throws {
        let (slow, refused) = try await deployment.database.whileLocked("lock table demo.users") {
            async let slow = find(#"{"where": "city = 'x' and age > 1", "offset": 7}"#)
            try await eventually("the search is under way") {
                try await deployment.database.psql(
                    "select 1 from pg_stat_activity where query like '%.users u%offset%' and wait_event_type = 'Lock'"
                ).count == 1
            }
            let refused = try await find("{}")
            return (try await slow, refused)
        }
        try expectProblem(refused, "overloaded")
        #expect(refused.header("Retry-After") == "1")
        try expectProblem(slow, "query_too_slow")
        let problem = try #require(JSON.object(slow.text))
        #expect(slow.status == 422 && problem["code"] == .integer(8153))
        let data = problem["errorData"]?.object
        #expect(data?["propertiesToIndex"] == .array([.string("city")]))
        #expect(data?["milliseconds"]?.integer ?? 0 >= 3000)
        #expect(problem["message"]?.string?.contains("have the operator index city") == true)

        // The log and the property show the same to the operator.
        func line() -> String? {
            deployment.service.process.standardOutput.split(separator: "\n").map(String.init)
                .first { $0.contains(#""message":"slow search""#) && $0.contains("city") }
        }
        try await eventually("the log has it") { line() != nil }
        let members = try #require(line().flatMap(JSON.object))
        #expect(members["application"]?.string == "demo" && members["index"]?.string == "city")
        #expect(members["outcome"]?.string == "query_too_slow")
        #expect(
            try await deployment.value("select properties::text || ' ' || searches from federation.index_advice")
                == "{city} 1"
        )
        #expect(try await find("{}").status == 200)
    }

    @Test("the listing of a Firebase backend is one of the searches under way, and is ended in their time")
    func listing() async throws {
        let backend = try await FirebaseBackend(deployment)
        let (slow, refused) = try await deployment.database.whileLocked("lock table demo.users") {
            async let slow = backend.send("/accounts:batchGet?maxResults=5", nil)
            try await eventually("the listing is under way") {
                try await deployment.database.psql(
                    // PostgreSQL shows the first 1024 bytes of a statement.
                    "select 1 from pg_stat_activity where query like '%.identities i%' and wait_event_type = 'Lock'"
                ).count == 1
            }
            let refused = try await find("{}")
            return (try await slow, refused)
        }
        try expectProblem(refused, "overloaded")
        #expect(slow.status == 400 && FirebaseClient.error(slow) == "QUERY_TOO_SLOW", "\(slow.text)")
        try await backend.call("/accounts:batchGet?maxResults=5", nil)
    }

    @Test("another user is read by the id while as many searches as may be are under way")
    func readingMeanwhile() async throws {
        let other = try #require(try await deployment.register("other.canary@example.com")["objectId"]?.string)
        _ = try await deployment.register("reader.canary@example.com")
        let reader = try await deployment.logIn("reader.canary@example.com")
        // A row takes this pattern some hundredths of a second, and PostgreSQL checks for a cancellation between
        // rows.
        let database = deployment.database
        try await database.psql(
            """
            insert into demo.users (object_id, city)
            select gen_random_uuid(), repeat('a', 20000) from generate_series(1, 600)
            """
        )
        let pattern = "%" + String(repeating: "a", count: 2000) + "b%"
        async let search = find(#"{"where": "city like '\#(pattern)'"}"#)
        try await eventually("the search is under way") {
            try await database.psql(
                """
                select 1 from pg_stat_activity
                where query like '%.users u where%like%' and state = 'active' and pid <> pg_backend_pid()
                """
            ).count == 1
        }
        let read = try await deployment.get("users/\(other)", token: reader.token)
        #expect(read.status == 200, "\(read.text)")
        try expectProblem(try await search, "query_too_slow")
        try await database.psql("delete from demo.users where length(city) = 20000")
    }

    @Test("the service builds what is declared, and drops what is not any more")
    func indexes() async throws {
        let owner = try await deployment.admin()
        func index() async throws -> JSONValue? { try await owner.get("applications/demo/properties/age")["index"] }
        try await eventually("the index is ready") { try await index() == .object(["state": .string("ready")]) }
        let indexes =
            "select count(*) from pg_indexes where schemaname = 'demo' and indexname like 'federation_indexed_%'"
        #expect(try await deployment.value(indexes) == "1")
        let answer = try await owner.ask(
            "PATCH",
            "applications/demo/properties/age",
            #"{"indexed": false, "index": {"state": "building"}}"#
        )
        #expect(answer["indexed"] == .bool(false) && answer["index"] == nil)
        #expect(try await index() == nil)
        try await eventually("the index is gone") { try await deployment.value(indexes) == "0" }
    }
}
