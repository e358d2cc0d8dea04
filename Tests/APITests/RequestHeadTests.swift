import NIOHTTP1
import Testing

@testable import HTTP

@Suite("What a request must be, whatever it asks for")
struct RequestHeadTests {
    private static func head(
        _ target: String,
        _ fields: [(String, String)] = [("Host", "a.example")],
        method: HTTPMethod = .GET,
        version: HTTPVersion = .http1_1
    ) -> HTTPRequestHead {
        HTTPRequestHead(version: version, method: method, uri: target, headers: HTTPHeaders(fields))
    }

    @Test(
        "HTTP/1.1 has exactly one Host, which is one",
        arguments: [
            ([], RequestFault.host), (["a.example", "b.example"], .host), (["a.example", "a.example"], .host),
            (["a.example", ""], .host), (["a.example, b.example"], .host), (["a.example,b.example"], .host),
            (["a b"], .host), (["a/b"], .host), (["user@a.example"], .host), (["a.example\u{0B}"], .host),
            (["ä"], .host),
            ([""], nil), (["a.example"], nil), (["A.example:8080"], nil), (["[2001:db8::1]:80"], nil), (["a_b"], nil),
        ] as [([String], RequestFault?)]
    )
    func hosts(values: [String], fault: RequestFault?) {
        for (name, target) in [("Host", "/x"), ("hOST", "/x"), ("host", "http://c.example/x")] {
            var head = Self.head(target, values.map { (name, $0) })
            #expect(head.settle() == fault, "\(target)")
        }
        var old = Self.head("/x", values.map { ("Host", $0) }, version: .http1_0)
        #expect(old.settle() == (values.isEmpty ? nil : fault))
    }

    @Test(
        "an absolute target outranks the header, and becomes a path",
        arguments: [
            ("http://b.example/x?y=http://c.example/", "b.example", "/x?y=http://c.example/"),
            ("HTTPS://B.example:8443", "B.example:8443", "/"), ("http://b.example?y", "b.example", "/?y"),
            ("http://[::1]:80//x", "[::1]:80", "//x"), ("/x?y", "a.example", "/x?y"),
            ("//b.example/x", "a.example", "//b.example/x"),
            ("/http://b.example/x", "a.example", "/http://b.example/x"),
        ]
    )
    func absolute(target: String, host: String, path: String) {
        for version in [HTTPVersion.http1_1, .http1_0] {
            var head = Self.head(target, version: version)
            #expect(head.settle() == nil)
            #expect(head.headers["host"] == [host])
            #expect(head.uri == path)
        }
        var old = Self.head(target, [], version: .http1_0)
        #expect(old.settle() == nil)
        #expect(old.headers["host"] == (target.hasPrefix("/") ? [] : [host]))
    }

    @Test(
        "no other form is taken",
        arguments: [
            "", "x", "b.example:443", "ftp://b.example/x", "http:/x", "http:x", "http://", "http:///x", "http://?x",
            "http://user@b.example/x", "http://b.example/x#y", "/x#y", "*", "*/x", "host", "unreadable", "urn:x",
        ]
    )
    func targets(target: String) {
        var head = Self.head(target)
        #expect(head.settle() == .target)
        var connect = Self.head("/x", method: .CONNECT)
        #expect(connect.settle() == .target)
        var options = Self.head("*", method: .OPTIONS)
        #expect(options.settle() == nil)
    }

    @Test("a target has 8,000 bytes at most")
    func length() {
        var longest = Self.head("/" + String(repeating: "x", count: 7999))
        #expect(longest.settle() == nil)
        var longer = Self.head("/" + String(repeating: "x", count: 8000))
        #expect(longer.settle() == .longTarget)
    }

    @Test("chunked is the only transfer coding, and HTTP/1.0 has none")
    func framing() {
        for (values, fault) in [
            (["chunked"], nil), (["Chunked"], nil), (["gzip, chunked"], .framing), (["gzip"], .framing),
            ([""], .framing),
            (["chunked", "chunked"], .framing), (["identity"], .framing),
        ] as [([String], RequestFault?)] {
            let fields = [("Host", "a.example")] + values.map { ("Transfer-Encoding", $0) }
            var head = Self.head("/x", fields)
            #expect(head.settle() == fault, "\(values)")
            var old = Self.head("/x", fields, version: .http1_0)
            #expect(old.settle() == .framing, "\(values)")
        }
    }

    @Test("whoever wants no further reply, or asks to upgrade, gets none")
    func closing() {
        func connection(_ fields: [(String, String)], _ version: HTTPVersion = .http1_1) -> [String] {
            var head = Self.head("/x", [("Host", "a.example")] + fields, version: version)
            #expect(head.settle() == nil)
            return head.headers["connection"]
        }
        #expect(connection([("Connection", "Close")]) == ["close"])
        #expect(connection([("Connection", "x, close")]) == ["close"])
        #expect(connection([("Connection", "x"), ("Connection", "close")]) == ["close"])
        #expect(connection([("Connection", "Upgrade"), ("Upgrade", "h2c")]) == ["close"])
        #expect(connection([], .http1_0) == ["close"])
        #expect(connection([("Connection", "keep-alive")], .http1_0) == ["keep-alive"])
        #expect(connection([]) == [])
    }

    @Test("Expect stays where a client waits with its body")
    func expectation() {
        func expects(_ fields: [(String, String)], _ version: HTTPVersion = .http1_1) -> Bool {
            var head = Self.head("/x", [("Host", "a.example")] + fields, method: .POST, version: version)
            #expect(head.settle() == nil)
            return head.headers.contains(name: "expect")
        }
        let waits = ("Expect", "100-Continue")
        #expect(expects([waits, ("Content-Length", "2")]))
        #expect(expects([waits, ("Transfer-Encoding", "chunked")]))
        #expect(!expects([waits, ("Content-Length", "2")], .http1_0))
        #expect(!expects([waits, ("Content-Length", "0")]))
        #expect(!expects([waits]))
        #expect(!expects([("Expect", "200-ok"), ("Content-Length", "2")]))
    }

    @Test("no path of a request is the name of a fault")
    func faults() {
        for fault in RequestFault.allCases {
            #expect(!fault.rawValue.hasPrefix("/") && fault.rawValue != "*")
        }
    }
}
