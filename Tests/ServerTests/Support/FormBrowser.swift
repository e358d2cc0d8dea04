import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// A browser without scripts, as far as our pages need one: it keeps cookies, sends forms as they stand in a page and
/// says where they come from.
class FormBrowser {
    private let http: HTTPClient
    /// Where it believes to have the pages from.
    private let origin: String
    /// By name.
    private(set) var cookies: [String: String]
    /// The last reply.
    private(set) var reply: HTTPReply?

    init(_ http: HTTPClient, at origin: String, cookies: [String: String] = [:]) {
        self.http = http
        self.origin = origin
        self.cookies = cookies
    }

    var page: String { reply?.text ?? "" }
    var status: Int? { reply?.status }
    /// What the forms of the page are protected by.
    var formToken: String? { PageForms.fields(in: page[...])["form"] }

    /// Loads a page, and whatever of ours it leads to; with all cookies, or those that are given.
    @discardableResult
    func open(
        _ path: String,
        headers: [(String, String)] = [],
        with cookies: [String: String]? = nil
    ) async throws -> HTTPReply {
        try await follow(try await send("GET", path, headers, cookies: cookies))
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
        let origin = headers ?? [("Origin", origin), ("Sec-Fetch-Site", "same-origin")]
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
