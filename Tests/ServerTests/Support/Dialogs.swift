import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// A login through the server, driven without a browser: what a client asks, what a person does at Facebook, and where
/// the browser goes.
extension Deployment {
    /// Asks for the address of the dialog.
    func requestURL(
        _ body: String = "{}",
        path: String = "users/oauth/facebook/request_url",
        headers: [(String, String)] = [],
        of document: Document? = nil
    ) async throws -> HTTPReply {
        try await client.post(self.path(path, of: document), json: body, headers: headers)
    }

    /// The browser of whoever has no other.
    var browser: Browser { .usual(of: client.port) }

    /// Opens a dialog, which must succeed.
    ///
    /// - Returns: The address of Facebook's dialog at which the browser has arrived.
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

    /// Opens what `requestURL` gave in a browser.
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

    /// What a person does in the dialog.
    enum Answer {
        case allow([String])
        case cancel
    }

    /// Lets a person answer the dialog.
    ///
    /// - Returns: Where Facebook sends the browser.
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

    /// Begins a login through the server, lets the person answer, and follows the browser to the end.
    func login(
        through body: String = "{}",
        headers: [(String, String)] = [],
        as person: Visitor,
        _ answer: Answer = .allow(["email"])
    ) async throws -> HTTPReply {
        let dialog = try await dialog(body, headers: headers)
        return try await comeBack(to: try await self.answer(dialog, as: person, answer))
    }

    /// Exchanges a login code.
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

    /// An authorization code of the simulator, as if the person had been through a dialog of the client's own.
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

/// A browser as far as logins through the server need one: it keeps the cookies of one site.
actor Browser {
    private var cookies: [String: String] = [:]
    private static let usual = Mutex<[Int: Browser]>([:])

    /// The one browser of a site on that port.
    static func usual(of port: Int) -> Browser {
        usual.withLock { browsers in
            let browser = browsers[port] ?? Browser()
            browsers[port] = browser
            return browser
        }
    }

    /// Goes to an address of the site.
    func get(_ address: Address, at client: HTTPClient) async throws -> HTTPReply {
        try await get(address.path + "?" + Address.encode(address.query), at: client)
    }

    /// Goes to a path of the site, with its query as it is.
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

/// A URL in its parts, the query decoded.
struct Address: Sendable {
    /// Scheme, host and port.
    let origin: String
    let path: String
    var query: [(name: String, value: String)]

    /// Takes a whole URL; a fragment is left away, as browsers do with a request.
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

    /// The value of a parameter that is there once.
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

/// Checks that a reply is a page for a person, that holds nothing of a request and runs nothing but what its policy
/// admits.
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

/// The message and the target of the page that hands a login over to its opener.
func handedOver(_ reply: HTTPReply) throws -> (message: JSONObject, origin: String) {
    func element(_ id: String) throws -> String {
        let start = try #require(reply.text.firstRange(of: #"id="\#(id)">"#), "\(reply.text)")
        let rest = reply.text[start.upperBound...]
        return String(rest[..<(try #require(rest.firstRange(of: "</script>"))).lowerBound])
    }
    let message = try #require(JSON.object(try element("message")))
    return (message, try #require(JSON.value(try element("origin"))?.string))
}
