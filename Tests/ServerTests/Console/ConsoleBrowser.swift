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
        let start = try #require(
            page.range(of: "action=\"\(path)\""),
            "no form to \(path): \(page)",
            sourceLocation: sourceLocation
        )
        var fields = Self.fields(in: page[start.upperBound...].prefix(upTo: "</form>"))
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
    var formToken: String? { Self.fields(in: page[...])["form"] }

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

    /// What the fields of a form hold, by their names: ticked boxes and chosen options as browsers send them.
    private static func fields(in form: Substring) -> [String: String] {
        var fields: [String: String] = [:]
        var lastSelect: String?
        for element in form.split(separator: "<") {
            guard let kind = ["input", "select", "textarea", "option"].first(where: element.hasPrefix) else { continue }
            let end = element.firstIndex(of: ">") ?? element.endIndex
            let (tag, content) = (element[..<end], element[end...].dropFirst())
            if kind == "option" {
                guard let select = lastSelect else { continue }
                let value = attribute("value", of: tag) ?? unescaped(String(content))
                if fields[select] == nil || tag.hasSuffix(" selected") { fields[select] = value }
                continue
            }
            lastSelect = nil
            guard let name = attribute("name", of: tag) else { continue }
            switch kind {
            case "select": lastSelect = name
            case "textarea": fields[name] = unescaped(String(content))
            case _ where tag.contains("type=\"checkbox\""):
                if tag.contains(" checked") { fields[name] = attribute("value", of: tag) ?? "on" }
            default: fields[name] = attribute("value", of: tag) ?? ""
            }
        }
        return fields
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        guard let start = tag.firstRange(of: " \(name)=\"") else { return nil }
        return unescaped(String(tag[start.upperBound...].prefix { $0 != "\"" }))
    }

    private static func unescaped(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}

extension Substring {
    fileprivate func prefix(upTo end: String) -> Substring { range(of: end).map { self[..<$0.lowerBound] } ?? self }
}

extension StringProtocol {
    fileprivate func range(of text: String) -> Range<String.Index>? { self.firstRange(of: text) }
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
