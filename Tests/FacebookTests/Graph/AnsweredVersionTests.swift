import Domain
@testable import Facebook
import NIOConcurrencyHelpers
import Testing

@Suite("The version of Graph that answered")
struct AnsweredVersionTests {
    /// Returns a Graph whose responses are good and name the version in the box.
    private func graph(_ version: NIOLockedValueBox<String>) throws -> FakeGraph {
        try FakeGraph { request in
            guard case .reply(let status, let body, _) = FakeGraph.good(request) else { return .reset }
            return .reply(status, body, headers: ["Facebook-API-Version: \(version.withLockedValue { $0 })"])
        }
    }

    @Test("it is kept for each app of each application, and follows what Graph says")
    func keeping() async throws {
        let version = NIOLockedValueBox("v25.0")
        let graph = try graph(version)
        defer { graph.stop() }
        let (app, application) = (try #require(ProviderAppID("123")), try #require(ApplicationID("demo")))
        func answered(asked: String? = nil) -> String? {
            graph.client.answeredVersion(of: app, application: application, asked: asked)
        }
        #expect(answered() == nil)
        _ = await graph.evidence()
        #expect(answered() == "v25.0")
        version.withLockedValue { $0 = "v26.0" }
        _ = await graph.evidence()
        #expect(answered() == "v26.0")
        #expect(graph.client.answeredVersion(of: app, application: try #require(ApplicationID("other"))) == nil)
        let other = try #require(ProviderAppID("456"))
        #expect(graph.client.answeredVersion(of: other, application: application) == nil)
        // The settings of these logins ask for v25.0.
        #expect(answered(asked: "v25.0") == "v26.0")
        #expect(answered(asked: "v26.0") == nil)
    }

    @Test(
        "what is no version is not taken for one",
        arguments: ["", "25.0", "v25", "v25.0\u{1B}[31m", "v25.0, v26.0", "v1234.567"]
    )
    func nonsense(header: String) async throws {
        let version = NIOLockedValueBox("v25.0")
        let graph = try graph(version)
        defer { graph.stop() }
        _ = await graph.evidence()
        version.withLockedValue { $0 = header }
        _ = await graph.evidence()
        let (app, application) = (try #require(ProviderAppID("123")), try #require(ApplicationID("demo")))
        #expect(graph.client.answeredVersion(of: app, application: application) == "v25.0")
    }
}
