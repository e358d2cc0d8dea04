import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// A browser without scripts, as far as the account page needs one: it keeps cookies, sends forms as they stand in a
/// page and says where they come from.
final class AccountBrowser {
    /// Where browsers reach the service.
    static let origin = "https://users.example.com"

    private let http: HTTPClient
    /// By name.
    private(set) var cookies: [String: String]
    /// The last reply.
    private(set) var reply: HTTPReply?

    init(_ http: HTTPClient, cookies: [String: String] = [:]) {
        self.http = http
        self.cookies = cookies
    }

    var page: String { reply?.text ?? "" }
    var status: Int? { reply?.status }
    /// The token of the session.
    func session(of application: String = "demo") -> String? { cookies["__Host-federation-account-\(application)"] }
    /// What the forms of the page are protected by.
    var formToken: String? { PageForms.fields(in: page[...])["form"] }

    /// Loads a page, and whatever of ours it leads to.
    @discardableResult
    func open(_ path: String, headers: [(String, String)] = []) async throws -> HTTPReply {
        try await follow(try await send("GET", path, headers))
    }

    /// Loads a page as another site's link has it loaded: cookies of ours alone do not come along.
    @discardableResult
    func arrive(at path: String) async throws -> HTTPReply {
        try await follow(
            try await send("GET", path, cookies: cookies.filter { $0.key.contains("dialog") })
        )
    }

    /// Sends the first form of the page that goes to a path, with what is filled in; its other fields are sent as they
    /// stand there.
    @discardableResult
    func send(
        formTo path: String,
        _ values: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let form = try #require(
            PageForms.form(to: path, in: page),
            "no form to \(path): \(page)",
            sourceLocation: sourceLocation
        )
        return try await post(path, PageForms.fields(in: form).merging(values) { $1 })
    }

    /// Sends a form, with the headers that a browser has for one of the same origin unless others are given.
    @discardableResult
    func post(
        _ path: String,
        _ fields: [String: String],
        headers: [(String, String)]? = nil
    ) async throws -> HTTPReply {
        let body = fields.map { "\($0.key)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let origin = headers ?? [("Origin", Self.origin), ("Sec-Fetch-Site", "same-origin")]
        let type = [("Content-Type", "application/x-www-form-urlencoded")]
        return try await follow(try await send("POST", path, type + origin, body))
    }

    private func follow(_ reply: HTTPReply) async throws -> HTTPReply {
        var reply = reply
        while reply.status == 303, let path = reply.header("Location"), path.hasPrefix("/") {
            reply = try await send("GET", path)
        }
        self.reply = reply
        return reply
    }

    private func send(
        _ method: String,
        _ path: String,
        _ headers: [(String, String)] = [],
        _ body: String = "",
        cookies: [String: String]? = nil
    ) async throws -> HTTPReply {
        let pairs = (cookies ?? self.cookies).map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        let cookie = pairs.isEmpty ? [] : [("Cookie", pairs)]
        let reply = try await http.send(method, path, headers: headers + cookie, body: Array(body.utf8))
        if let set = reply.header("Set-Cookie"), let pair = set.split(separator: ";").first {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            self.cookies[sides[0]] = set.contains("Max-Age=0") ? nil : sides[1]
        }
        return reply
    }
}

extension Deployment {
    /// The path of a new link to the account page, for the user of a session.
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

    /// A browser in which the user of a session has opened the account page by a link.
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
