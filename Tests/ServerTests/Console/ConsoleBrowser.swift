@testable import ServerTestSupport
import Testing
import TestSupport

/// An operator's browser.
final class ConsoleBrowser: FormBrowser {
    /// Makes a browser with a cookie in the form of a request header, or without a cookie.
    init(_ http: HTTPClient, cookie: String? = nil) {
        let sides = cookie?.split(separator: "=", maxSplits: 1).map(String.init)
        super.init(http, at: "http://127.0.0.1:\(http.port)", cookies: sides.map { [$0[0]: $0[1]] } ?? [:])
    }

    /// The cookie in the form of a request header; `nil` without a cookie.
    var cookie: String? { cookies.first.map { "\($0.key)=\($0.value)" } }

    /// The entity tag in the page's forms.
    var tag: String { PageForms.fields(in: page[...])["tag"] ?? "" }
}

extension Deployment {
    /// Returns a browser in which an operator of a role has logged in by a link.
    func browser(_ role: Role = .owner, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> ConsoleBrowser
    {
        _ = try await admin(role)
        let browser = ConsoleBrowser(service.management)
        try await browser.open(try await consoleLink(role))
        try await browser.send(formTo: "/console/login", sourceLocation: sourceLocation)
        try #require(browser.cookie != nil, "\(browser.page)", sourceLocation: sourceLocation)
        return browser
    }

    /// Returns the path of a link that logs the operator of a role in.
    func consoleLink(_ role: Role) async throws -> String {
        _ = try await admin(role)
        let said = try await command("console", role.rawValue, "--at", "http://localhost")
        return String(said.replacing("http://localhost", with: "").prefix { $0 != "\n" })
    }
}
