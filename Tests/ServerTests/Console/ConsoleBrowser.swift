import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// A browser of an operator.
final class ConsoleBrowser: FormBrowser {
    /// A browser with a cookie, as it is sent, or with none.
    init(_ http: HTTPClient, cookie: String? = nil) {
        let sides = cookie?.split(separator: "=", maxSplits: 1).map(String.init)
        super.init(http, at: "http://127.0.0.1:\(http.port)", cookies: sides.map { [$0[0]: $0[1]] } ?? [:])
    }

    /// The cookie as it is sent; nil while there is none.
    var cookie: String? { cookies.first.map { "\($0.key)=\($0.value)" } }

    /// What the forms of the page say that they are based on.
    var tag: String { PageForms.fields(in: page[...])["tag"] ?? "" }
}

extension Deployment {
    /// A browser in which an operator of a role has signed in by a link.
    func browser(_ role: Role = .owner, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> ConsoleBrowser
    {
        _ = try await admin(role)
        let browser = ConsoleBrowser(service.management)
        try await browser.open(try await consoleLink(role))
        try await browser.send(formTo: "/console/sign-in", sourceLocation: sourceLocation)
        try #require(browser.cookie != nil, "\(browser.page)", sourceLocation: sourceLocation)
        return browser
    }

    /// The path of a link that signs the operator of a role in.
    func consoleLink(_ role: Role) async throws -> String {
        _ = try await admin(role)
        let said = try await command("console", role.rawValue, "--at", "http://localhost")
        return String(said.replacing("http://localhost", with: "").prefix { $0 != "\n" })
    }
}
