import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The suite has a hundred users of 70 KB each.
@Suite(
    "Large pages of users",
    .serialized,
    .deployed(
        Document(hasServerKey: true, properties: #"{"about": {"type": "TEXT"}, "extra": {"type": "JSON"}}"#),
        sql: """
            insert into demo.users (object_id, about, extra)
            select gen_random_uuid(), repeat('x', 35000), (select jsonb_agg(n) from generate_series(10001, 15000) n)
            from generate_series(1, 100)
            """
    )
)
struct LargePageTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func find(_ body: String) async throws -> HTTPReply {
        try await deployment.send("POST", "data/Users/find", body, key: Canary.serverAPIKey)
    }

    @Test("a member that comes back under several names counts as often: a page has 8 MiB at most")
    func aliases() async throws {
        let page = try await find(#"{"pageSize": 100, "props": "about, about as a"}"#)
        #expect(page.status == 200 && page.body.count > 7_000_000)
        let larger = try await find(#"{"pageSize": 100, "props": "about, about as a, about as b"}"#)
        let problem = try expectProblem(larger, "query_too_large")
        #expect(problem["maxBytes"]?.integer == 8 << 20, "\(larger.text.prefix(500))")
        let smaller = try await find(#"{"pageSize": 50, "props": "about, about as a, about as b"}"#)
        #expect(smaller.status == 200)
    }

    /// Checks that event loops do not serialize pages.
    ///
    /// On the connection's event loop a page in this build would block all its connections for seconds. The test
    /// compares processor times, since waiting times depend on other load of the machine.
    @Test("pages are made beside the loops of connections, which answer meanwhile")
    func health() async throws {
        let (process, isOver) = (deployment.service.process, Flag())
        func worked() throws -> (loops: Duration, all: Duration) {
            (try ProcessUsage.processorTime(of: process.pid, ofThreads: "NIO-ELT"), try process.usage().processorTime)
        }
        let before = try worked()
        async let pages: Void = withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    // Pages of this build take longer than a search may wait for its turn.
                    try await eventually("a page") { try await find(#"{"pageSize": 100}"#).status == 200 }
                }
            }
            let outcome = await group.nextResult()
            while await group.nextResult() != nil {}
            await isOver.raise()
            try outcome?.get()
        }
        while await !isOver.isRaised {
            #expect(try await deployment.service.management.get("/health/live").status == 200)
            try await Task.sleep(for: .milliseconds(50))
        }
        try await pages
        let after = try worked()
        let (loops, all) = (after.loops - before.loops, after.all - before.all)
        #expect(loops < all / 2, "\(loops) of \(all) by the loops of connections")
    }
}
