import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// A browser without scripts, as far as the console needs one: it keeps one cookie, sends forms as they stand in a page
/// and says where they come from.
final class ConsoleBrowser {
    private let http: HTTPClient
    /// The cookie as it is sent; nil while there is none.
    private(set) var cookie: String?
    /// The last reply.
    private(set) var reply: HTTPReply?

    init(_ http: HTTPClient, cookie: String? = nil) {
        self.http = http
        self.cookie = cookie
    }

    var page: String { reply?.text ?? "" }
    var status: Int? { reply?.status }

    /// Loads a page, and whatever it leads to.
    @discardableResult
    func open(_ path: String) async throws -> HTTPReply {
        try await follow(try await send("GET", path))
    }

    /// Sends the first form of the page that goes to a path, with what is filled in and the button that is pressed.
    ///
    /// Its other fields are sent as they stand there. A value of nil unticks a box.
    @discardableResult
    func send(
        formTo path: String,
        _ values: [String: String?] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let form = try #require(
            PageForms.form(to: path, in: page),
            "no form to \(path): \(page)",
            sourceLocation: sourceLocation
        )
        var fields = PageForms.fields(in: form)
        for (name, value) in values { fields[name] = value }
        return try await post(path, fields)
    }

    /// Sends a form, with the headers that a browser has for one of the same origin unless others are given.
    @discardableResult
    func post(
        _ path: String,
        _ fields: [String: String],
        headers: [(String, String)]? = nil
    ) async throws -> HTTPReply {
        try await post(path, pairs: fields.map { ($0.key, $0.value) }, headers: headers)
    }

    /// The same with fields that may be there several times.
    @discardableResult
    func post(
        _ path: String,
        pairs: [(String, String)],
        headers: [(String, String)]? = nil
    ) async throws -> HTTPReply {
        let body = pairs.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let origin = headers ?? [("Origin", "http://127.0.0.1:\(http.port)"), ("Sec-Fetch-Site", "same-origin")]
        let type = [("Content-Type", "application/x-www-form-urlencoded")]
        return try await follow(try await send("POST", path, type + origin, body))
    }

    /// What the forms of the page are protected by.
    var formToken: String? { PageForms.fields(in: page[...])["form"] }

    /// What the forms of the page say that they are based on.
    var tag: String { PageForms.fields(in: page[...])["tag"] ?? "" }

    private func follow(_ reply: HTTPReply) async throws -> HTTPReply {
        var reply = reply
        while reply.status == 303, let path = reply.header("Location") { reply = try await send("GET", path) }
        self.reply = reply
        return reply
    }

    private func send(
        _ method: String,
        _ path: String,
        _ headers: [(String, String)] = [],
        _ body: String = ""
    ) async throws -> HTTPReply {
        let cookies = cookie.map { [("Cookie", $0)] } ?? []
        let reply = try await http.send(method, path, headers: headers + cookies, body: Array(body.utf8))
        if let set = reply.header("Set-Cookie"), let pair = set.split(separator: ";").first {
            cookie = set.contains("Max-Age=0") ? nil : String(pair)
        }
        return reply
    }
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
