import Glibc
import Testing

@testable import Curl

@Suite("The URLs that may be called")
struct URLTests {
    @Test(
        "T-116: https anywhere, http to this machine alone",
        arguments: [
            "https://graph.facebook.com", "https://graph.facebook.com/v25.0/me?fields=id%2Cname",
            "HTTPS://a.example:8443/",
            "http://127.0.0.1:9000/x", "http://127.255.1.2/", "http://[::1]:9000", "http://localhost:9000/debug_token",
            "http://0x7f.1/", "https://a.example?x=1", "https://a.example/?to=https://b.example/",
        ]
    )
    func accepted(_ text: String) throws {
        let url = try HTTPURL(text)
        #expect(text.hasPrefix(url.origin))
    }

    @Test(
        "T-116: another scheme or another machine over plain http is refused",
        arguments: [
            ("http://graph.facebook.com/", CurlError.InvalidRequest.plainHTTPBeyondLoopback),
            ("http://169.254.169.254/latest/meta-data", .plainHTTPBeyondLoopback),
            ("http://10.0.0.1/", .plainHTTPBeyondLoopback),
            ("http://0.0.0.0/", .plainHTTPBeyondLoopback),
            ("http://128.0.0.1/", .plainHTTPBeyondLoopback),
            ("http://[::]/", .plainHTTPBeyondLoopback),
            ("http://[::2]/", .plainHTTPBeyondLoopback),
            ("http://[::ffff:10.0.0.1]/", .plainHTTPBeyondLoopback),
            ("http://localhost.evil.example/", .plainHTTPBeyondLoopback),
            ("http://127.0.0.1.evil.example/", .plainHTTPBeyondLoopback),
            ("http://localhost./", .plainHTTPBeyondLoopback),
            ("file:///etc/passwd", .schemeNotAllowed),
            ("ftp://127.0.0.1/", .schemeNotAllowed),
            ("gopher://127.0.0.1/", .schemeNotAllowed),
            ("javascript:alert(1)", .schemeNotAllowed),
            ("https://user@a.example/", .userInformationInURL),
            ("https://user:secret@a.example/", .userInformationInURL),
            ("http://127.0.0.1@evil.example/", .userInformationInURL),
            ("https://a.example/#part", .fragmentInURL),
            ("http://127.0.0.1#@evil.example/", .fragmentInURL),
            ("https://a.example/\r\nX-A: b", .urlCharacter),
            ("https://a.example/a b", .urlCharacter),
            ("https://a.example/\u{0}", .urlCharacter),
            ("https://a.example/\u{7F}", .urlCharacter),
            ("https://a.example/ä", .urlCharacter),
            ("https://127.0.0.1\\@evil.example/", .urlCharacter),
            ("https://a.example/{b}", .urlCharacter),
            ("graph.facebook.com/me", .malformedURL),
            ("https:///me", .malformedURL),
            ("https:/a.example/", .malformedURL),
            ("https://a.example:99999/", .malformedURL),
            ("https://[::1/", .malformedURL),
            ("http://[::1%25lo]/", .malformedURL),
            ("", .malformedURL),
            ("https://a.example/" + String(repeating: "a", count: HTTPURL.maxBytes), .urlTooLong),
        ]
    )
    func refused(_ text: String, _ reason: CurlError.InvalidRequest) {
        #expect(throws: CurlError.invalidRequest(reason)) { try HTTPURL(text) }
    }

    @Test("a target replaces path and query and nothing before them")
    func targets() throws {
        let base = try HTTPURL("https://graph.facebook.com:8443/old?x=1")
        let url = try base.withTarget("/v25.0/me?fields=id")
        #expect(url.origin == "https://graph.facebook.com:8443")
        #expect(url.path == "/v25.0/me")
        #expect(try base.withTarget("//evil.example/").origin == base.origin)
        #expect(try HTTPURL("https://a.example?x=1").withTarget("/y").origin == "https://a.example")
        #expect(try HTTPURL("https://a.example").path == "/")
    }

    @Test(
        "T-15: a target that could change the request is refused",
        arguments: [
            ("", CurlError.InvalidRequest.malformedURL), ("me", .malformedURL), ("@evil.example/", .malformedURL),
            ("/me?a=x\r\nX-A: b", .urlCharacter), ("/me?a=x y", .urlCharacter), ("/me?a=x#", .fragmentInURL),
            ("/" + String(repeating: "a", count: HTTPURL.maxBytes), .urlTooLong),
        ]
    )
    func refusedTargets(_ target: String, _ reason: CurlError.InvalidRequest) throws {
        let base = try HTTPURL("https://graph.facebook.com")
        #expect(throws: CurlError.invalidRequest(reason)) { try base.withTarget(target) }
    }

    @Test(
        "T-116: the address itself decides, whatever the name",
        arguments: [
            ("127.0.0.1", true), ("127.255.255.254", true), ("126.255.255.255", false), ("128.0.0.1", false),
            ("169.254.169.254", false), ("0.0.0.0", false), ("::1", true), ("::", false), ("::2", false),
            ("::ffff:127.0.0.1", false), ("fe80::1", false), ("100::1", false),
        ]
    )
    func addresses(_ text: String, _ isLoopback: Bool) {
        var v4 = sockaddr_in()
        v4.sin_family = sa_family_t(AF_INET)
        var v6 = sockaddr_in6()
        v6.sin6_family = sa_family_t(AF_INET6)
        let found =
            inet_pton(AF_INET, text, &v4.sin_addr) == 1
            ? contains(v4) : inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 && contains(v6)
        #expect(found == isLoopback)
    }

    private func contains<Address>(_ address: Address) -> Bool {
        withUnsafeBytes(of: address) { bytes in
            guard let generic = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return false }
            let isShortRefused = !LoopbackAddress.contains(generic, length: 8)
            return isShortRefused && LoopbackAddress.contains(generic, length: socklen_t(bytes.count))
        }
    }
}
