import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The browser of a user with an account.
final class AccountBrowser: FormBrowser {
    /// The origin at which browsers reach the service.
    static let origin = "https://users.example.com"

    init(_ http: HTTPClient, cookies: [String: String] = [:]) {
        super.init(http, at: Self.origin, cookies: cookies)
    }

    /// Returns the session token in the browser's cookie.
    func session(of application: String = "demo") -> String? { cookies["__Host-federation-account-\(application)"] }

    /// Loads a page by a link of another site: only the cookies of dialogs are sent.
    @discardableResult
    func arrive(at path: String) async throws -> HTTPReply {
        try await open(path, with: cookies.filter { $0.key.contains("dialog") })
    }
}

extension Deployment {
    /// Returns the path of a new link to the account page, for the user of a session.
    func accountLink(
        of token: String,
        in document: Document? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let reply = try await send("POST", "users/account/link", "{}", token: token, to: document)
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        let url = try #require(JSON.object(reply.text)?["url"]?.string, sourceLocation: sourceLocation)
        try #require(url.hasPrefix(AccountBrowser.origin + "/"), "\(url)", sourceLocation: sourceLocation)
        return String(url.dropFirst(AccountBrowser.origin.count))
    }

    /// Returns a browser in which the user of a session has opened the account page by a link.
    func accountBrowser(
        of token: String,
        in document: Document? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> AccountBrowser {
        let browser = AccountBrowser(client)
        let path = "/\((document ?? documents[0]).application)/account"
        try await browser.open(try await accountLink(of: token, in: document, sourceLocation: sourceLocation))
        try await browser.send(formTo: path + "/link", sourceLocation: sourceLocation)
        try #require(browser.status == 200, "\(browser.page)", sourceLocation: sourceLocation)
        return browser
    }
}
