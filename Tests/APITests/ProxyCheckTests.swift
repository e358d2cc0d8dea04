import Accounts
@testable import AdministrationAPI
import Applications
import Encodings
import HTTPTypes
@testable import PublicAPI
import Testing
import TestSupport

@Suite("Proxies that nobody declared")
struct ProxyCheckTests {
    @Test(
        "more addresses in X-Forwarded-For or Forwarded than proxies are declared is a warning, in readiness, too",
        arguments: [
            (0, [], false), (0, [("X-Forwarded-For", "192.0.2.1")], true), (0, [("Forwarded", "for=192.0.2.1")], true),
            (1, [("X-Forwarded-For", "192.0.2.1")], false), (1, [("x-forwarded-for", "192.0.2.1, 192.0.2.2")], true),
            (1, [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "192.0.2.2")], true),
            (1, [("Forwarded", "for=192.0.2.1, for=192.0.2.2")], true),
            (2, [("X-Forwarded-For", "192.0.2.1, 192.0.2.2")], false),
            (0, [("X-Forwarded-Proto", "https"), ("X-Real-IP", "192.0.2.1")], false),
        ] as [(Int, [(String, String)], Bool)]
    )
    func warning(declared: Int, fields: [(String, String)], isRaised: Bool) async throws {
        var headers: HTTPFields = [:]
        for (name, value) in fields {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        try await withDatabase(.schema) { [headers] database in
            try await Listeners.onDatabase(database.url, trustedProxies: declared) { listeners in
                for _ in 1...3 {
                    #expect(try await listeners.call(.get, "/openapi.json", headers: headers).status == 200)
                }
                try await listeners.parts.directory.refresh()
                let ready = try await listeners.manage(.get, "/health/ready")
                #expect(ready.status == 200 && ready.json?["status"]?.string == "ready", "\(ready.text)")
                let warnings = ready.json?["warnings"]?.array?.compactMap(\.string)
                #expect(warnings == (isRaised ? [ProxyCheck.warning(declared)] : nil))
            }
        }
    }
}
