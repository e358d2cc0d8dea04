import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// A browser without scripts for the service's pages.
///
/// It keeps cookies, sends the forms of a page, and sends the headers `Origin` and `Sec-Fetch-Site`.
class FormBrowser {
    private let http: HTTPClient
    /// The origin of the pages.
    private let origin: String
    /// The cookies by name.
    private(set) var cookies: [String: String]
    /// The last response.
    private(set) var reply: HTTPReply?
    /// The target of the redirect that led to the last response; nil if none did.
    private(set) var redirect: String?

    init(_ http: HTTPClient, at origin: String, cookies: [String: String] = [:]) {
        self.http = http
        self.origin = origin
        self.cookies = cookies
    }

    var page: String { reply?.text ?? "" }
    var status: Int? { reply?.status }
    /// The token that protects the page's forms against forgery.
    var formToken: String? { PageForms.fields(in: page[...])["form"] }

    /// Loads a page and follows redirects within the site, with all cookies or the given ones.
    @discardableResult
    func open(
        _ path: String,
        headers: [(String, String)] = [],
        with cookies: [String: String]? = nil
    ) async throws -> HTTPReply {
        try await follow(try await send("GET", path, headers, cookies: cookies))
    }

    /// Sends the page's first form with a path as its action.
    ///
    /// The values are filled in, with the pressed button; a `nil` value unticks a box. Other fields are sent unchanged.
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

    /// Sends a form, by default with a browser's headers for the same origin.
    @discardableResult
    func post(
        _ path: String,
        _ fields: [String: String],
        headers: [(String, String)]? = nil
    ) async throws -> HTTPReply {
        try await post(path, pairs: fields.map { ($0.key, $0.value) }, headers: headers)
    }

    /// Sends a form whose fields may occur several times.
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
        redirect = nil
        while reply.status == 303, let path = reply.header("Location"), path.hasPrefix("/") {
            redirect = path
            reply = try await send("GET", String(path.prefix { $0 != "#" }))
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
