import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Synchronization
import Testing
import TestSupport

/// A login through the server without a real browser: the client's requests, the user's actions at Facebook, and the
/// browser's redirects.
extension Deployment {
    /// Requests the address of the dialog.
    func requestURL(
        _ body: String = "{}",
        path: String = "users/oauth/facebook/request_url",
        headers: [(String, String)] = [],
        of document: Document? = nil
    ) async throws -> HTTPReply {
        try await client.post(self.path(path, of: document), json: body, headers: headers)
    }

    /// The default browser.
    var browser: Browser { .usual(of: client.port) }

    /// Opens a dialog and requires success.
    ///
    /// - Returns: The address of Facebook's dialog to which the browser was redirected.
    func dialog(
        _ body: String = "{}",
        headers: [(String, String)] = [],
        of document: Document? = nil,
        in browser: Browser? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Address {
        let reply = try await requestURL(body, headers: headers, of: document)
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        return try await open(Address(reply.text), in: browser, sourceLocation: sourceLocation)
    }

    /// Opens the address from `requestURL` in a browser.
    func open(
        _ address: Address,
        in browser: Browser? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Address {
        guard address.origin != simulator.url else { return address }
        let reply = try await (browser ?? self.browser).get(address, at: client)
        try #require(reply.status == 303, "\(reply.text)", sourceLocation: sourceLocation)
        return try Address(try #require(reply.header("Location"), sourceLocation: sourceLocation))
    }

    /// The user's action in the dialog.
    enum Answer {
        case allow([String])
        case cancel
    }

    /// Completes the dialog as a user.
    ///
    /// - Returns: The address that Facebook redirects the browser to.
    func answer(_ dialog: Address, as person: Visitor, _ answer: Answer = .allow(["email"])) async throws -> Address {
        var form = dialog.query + [("person", person.key)]
        switch answer {
        case .allow(let permissions):
            form += permissions.map { ("granted", $0) } + [("action", "continue")]
        case .cancel: form += [("action", "cancel")]
        }
        let reply = try await simulator.graph.send(
            "POST",
            dialog.path,
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(Address.encode(form).utf8)
        )
        try #require(reply.status == 302, "\(reply.text)")
        return try Address(try #require(reply.header("Location")))
    }

    /// Sends the browser back to the service.
    func comeBack(
        to callback: Address,
        at client: HTTPClient? = nil,
        in browser: Browser? = nil
    ) async throws -> HTTPReply {
        try await (browser ?? self.browser).get(callback, at: client ?? self.client)
    }

    /// Starts a login through the server, completes the dialog as a user, and returns the last response.
    func login(
        through body: String = "{}",
        headers: [(String, String)] = [],
        as person: Visitor,
        _ answer: Answer = .allow(["email"])
    ) async throws -> HTTPReply {
        let dialog = try await dialog(body, headers: headers)
        return try await comeBack(to: try await self.answer(dialog, as: person, answer))
    }

    func redeem(
        _ code: String,
        verifier: String? = nil,
        of document: Document? = nil,
        at client: HTTPClient? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        let verifier = verifier.map { #", "codeVerifier": "\#($0)""# } ?? ""
        return try await (client ?? self.client).post(
            path("users/loginWithFacebook", of: document),
            json: #"{"loginCode": "\#(code)"\#(verifier)}"#,
            headers: headers
        )
    }

    /// Returns an authorization code of the simulator, as from a dialog of the client's own.
    func code(of person: Visitor, redirectURI: String, scopes: [String] = ["email"]) async throws -> String {
        let scopes = scopes.map(JSON.quoted).joined(separator: ", ")
        let reply = try await simulator.control.post(
            "/codes",
            json:
                #"{"person": "\#(person.key)", "app": "1234567890", "redirectUri": \#(JSON.quoted(redirectURI)), "scopes": [\#(scopes)]}"#
        )
        return try #require(JSON.object(reply.text)?["code"]?.string, "\(reply.text)")
    }
}

/// A minimal browser for logins through the server, which keeps the cookies of one site.
actor Browser {
    private var cookies: [String: String] = [:]
    private static let usual = Mutex<[Int: Browser]>([:])

    /// Returns the default browser for a site on that port.
    static func usual(of port: Int) -> Browser {
        usual.withLock { browsers in
            let browser = browsers[port] ?? Browser()
            browsers[port] = browser
            return browser
        }
    }

    /// Requests an address of the site.
    func get(_ address: Address, at client: HTTPClient) async throws -> HTTPReply {
        try await get(address.path + "?" + Address.encode(address.query), at: client)
    }

    /// Requests a path of the site, with the query unchanged.
    func get(_ target: String, at client: HTTPClient) async throws -> HTTPReply {
        try await send("GET", target, at: client)
    }

    /// Sends a form to a path of the site.
    func post(_ path: String, form: [(String, String)], at client: HTTPClient) async throws -> HTTPReply {
        let type = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", "null")]
        return try await send("POST", path, headers: type, body: Array(Address.encode(form).utf8), at: client)
    }

    private func send(
        _ method: String,
        _ target: String,
        headers: [(String, String)] = [],
        body: [UInt8] = [],
        at client: HTTPClient
    ) async throws -> HTTPReply {
        let kept = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        let headers = headers + (kept.isEmpty ? [] : [("Cookie", kept)])
        let reply = try await client.send(method, target, headers: headers, body: body)
        for cookie in reply.values(of: "Set-Cookie") {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { cookies[String(pair[0])] = String(pair[1]) }
        }
        return reply
    }
}

/// The parts of a URL, with the query decoded.
struct Address: Sendable {
    /// Scheme, host and port.
    let origin: String
    let path: String
    var query: [(name: String, value: String)]

    /// Parses a URL; the fragment is dropped, as browsers do in requests.
    init(_ text: String) throws {
        let whole = text.prefix { $0 != "#" }
        let parts = whole.split(separator: "?", maxSplits: 1)
        let slashes = try #require(parts.first?.firstRange(of: "://"), "\(text)")
        let base = try #require(parts.first)
        let rest = base[slashes.upperBound...]
        let host = rest.prefix { $0 != "/" }
        origin = String(base[..<slashes.upperBound] + host)
        path = String(rest.dropFirst(host.count))
        query = (parts.dropFirst().first ?? "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(sides[0]), Self.decoded(sides.dropFirst().first ?? ""))
        }
    }

    /// The value of a parameter that occurs exactly once.
    subscript(name: String) -> String? {
        let values = query.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    static func encode(_ query: [(name: String, value: String)]) -> String {
        query.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte)
                ? String(UnicodeScalar(byte)) : (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
        }.joined()
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A verifier of PKCE and its challenge: the example of RFC 7636, appendix B.
enum ProofKey {
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
}

/// Expects that a response is a page for the user.
///
/// The page repeats nothing of the request and runs only what its policy admits.
func expectPage(
    _ reply: HTTPReply,
    status: Int,
    scripts: Bool = false,
    keepsCookie: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let comment: Comment = "\(reply.status) \(reply.text)"
    #expect(reply.status == status, comment, sourceLocation: sourceLocation)
    #expect(reply.header("Content-Type") == "text/html; charset=utf-8", comment, sourceLocation: sourceLocation)
    #expect(reply.header("Cache-Control") == "no-store", sourceLocation: sourceLocation)
    #expect(reply.header("Referrer-Policy") == "no-referrer", sourceLocation: sourceLocation)
    #expect(reply.header("X-Content-Type-Options") == "nosniff", sourceLocation: sourceLocation)
    #expect((reply.header("Set-Cookie") != nil) == keepsCookie, sourceLocation: sourceLocation)
    let policy = reply.header("Content-Security-Policy") ?? ""
    #expect(policy.hasPrefix("default-src 'none'; "), sourceLocation: sourceLocation)
    #expect(policy.contains("frame-ancestors 'none'"), sourceLocation: sourceLocation)
    #expect(!policy.contains("unsafe"), sourceLocation: sourceLocation)
    #expect(policy.contains("script-src") == scripts, sourceLocation: sourceLocation)
    #expect(reply.text.contains("<script") == scripts, comment, sourceLocation: sourceLocation)
}

/// Returns the message and the target origin in the page that hands a login over to its opener.
func handedOver(_ reply: HTTPReply) throws -> (message: JSONObject, origin: String) {
    func element(_ id: String) throws -> String {
        let start = try #require(reply.text.firstRange(of: #"id="\#(id)">"#), "\(reply.text)")
        let rest = reply.text[start.upperBound...]
        return String(rest[..<(try #require(rest.firstRange(of: "</script>"))).lowerBound])
    }
    let message = try #require(JSON.object(try element("message")))
    return (message, try #require(JSON.value(try element("origin"))?.string))
}
