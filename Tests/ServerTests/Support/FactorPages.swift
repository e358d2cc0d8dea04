import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A page of the service with forms, as received by a browser.
struct FormPage: Sendable {
    let reply: HTTPReply

    var text: String { reply.text }

    /// Returns the value of the first field with a name.
    func field(_ name: String) -> String? { value(after: #"name="\#(name)" value=""#) }

    /// Returns the JSON in a script element that contains only data.
    func element(_ id: String) throws -> JSONObject {
        let start = try #require(text.firstRange(of: #"id="\#(id)">"#), "\(text)")
        let rest = text[start.upperBound...]
        let end = try #require(rest.firstRange(of: "</script>"))
        return try #require(JSON.object(String(rest[..<end.lowerBound])))
    }

    var recoveryCodes: [String] {
        text.split(separator: "<li><code>").dropFirst().map { String($0.prefix { $0 != "<" }) }
    }

    /// An authenticator app that has scanned the code shown.
    var app: AuthenticatorApp {
        get throws {
            let address = try #require(value(after: #"<a href=""#)?.replacing("&amp;", with: "&"))
            return try AuthenticatorApp(["id": .string(field("draft") ?? ""), "otpauth": .string(address)])
        }
    }

    private func value(after start: String) -> String? {
        guard let found = text.firstRange(of: start) else { return nil }
        return String(text[found.upperBound...].prefix { $0 != "\"" })
    }
}

extension Deployment {
    /// Sends a form of the page that asks for a second factor at the end of a dialog.
    func answerFactor(
        _ page: FormPage,
        _ fields: [(String, String)],
        of document: Document? = nil,
        path: String = "users/oauth/facebook/secondFactor",
        in browser: Browser? = nil,
        at instance: ServiceProcess? = nil
    ) async throws -> HTTPReply {
        let form = [("login", try #require(page.field("login"), "\(page.text)"))] + fields
        let client = instance?.client ?? client
        return try await (browser ?? self.browser).post(self.path(path, of: document), form: form, at: client)
    }
}
