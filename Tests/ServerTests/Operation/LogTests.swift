import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("T-119: one login is one line of the log", .serialized, .deployed(Document(mapping: #"{"name": "name"}"#)))
struct LogTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-119: whatever is in names, headers and bodies, each login writes one JSON line, and nobody else's")
    func oneLineEach() async throws {
        // Values with control characters are not stored.
        let controls = [
            "a\r\nb", "a\n{\"level\":\"info\",\"message\":\"login\",\"outcome\":\"created\"}",
            "\u{1B}[2J\u{1B}]0;x\u{07}", "\u{2028}\u{2029}",
            "\u{202E}txt.exe", "\u{85}",
        ]
        let hostile = controls + [#"","outcome":"created","x":""#, "\\", "${jndi:ldap://x}"]
        for (position, text) in hostile.enumerated() {
            let visitor = try await deployment.newcomer(#"{"name": \#(JSON.quoted(text))}"#)
            let signedIn = try await deployment.loggedIn(
                visitor,
                headers: [("User-Agent", "x\t\"}\\n{\u{2028}"), ("X-Forwarded-For", "1.1.1.1, \"}")]
            )
            let stored = position < controls.count ? nil : text
            #expect(signedIn.user["name"]?.string.map { Array($0.utf8) } == stored.map { Array($0.utf8) })
            let refused = try await deployment.login(
                body: #"{"accessToken": \#(JSON.quoted("x" + text)), "appId": \#(JSON.quoted(text))}"#
            )
            #expect(refused.status >= 400)
        }
        let raw = deployment.path("users/loginWithFacebook")
        _ = try await deployment.client.exchange(
            "POST \(raw) HTTP/1.1\r\nHost: x\r\nUser-Agent: a\u{1B}b\rc\r\nX: \u{1}\r\n\r\n",
            within: .seconds(1)
        )

        try await eventually("the log holds every login") { try events().count == 2 * hostile.count }
        let lines = try events()
        for line in lines {
            for key in ["time", "level", "message", "application", "provider", "outcome", "request", "ms"] {
                #expect(line[key]?.string?.isEmpty == false, "\(key) of \(line)")
            }
            #expect(Set(line.keys).count == line.keys.count)
        }
        #expect(lines.count { $0["outcome"]?.string == "created" } == hostile.count)
        #expect(Set(lines.compactMap { $0["request"]?.string }).count == lines.count, "each with its own request id")
        let bytes = deployment.service.process.standardOutput.utf8
        #expect(bytes.allSatisfy { $0 >= 0x20 || $0 == 0x0A }, "no control characters")
    }

    /// Returns the log's lines about logins.
    private func events() throws -> [JSONObject] {
        deployment.service.process.standardOutput.utf8.split(separator: 0x0A)
            .compactMap { JSON.object(String(decoding: $0, as: UTF8.self)) }
            .filter { $0["message"]?.string == "login" }
    }
}
