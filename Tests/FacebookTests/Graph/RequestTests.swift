import Curl
import Domain
@testable import Facebook
import Providers
import Testing

@Suite("Asking Graph")
struct RequestTests {
    @Test(
        "the proof is the one of Facebook's own examples (docs/protocols/facebook.md §7.1)",
        arguments: [
            ("shhhhh!is.my.secret", "foo_token", "796ba0d8a6b339e476a7b166a9e8ac0a395f7de736dc37de5f2f4397f5854eb8"),
            ("foo_secret", "123|foo_secret", "de753c58fd58b03afca2340bbaeb4ecf987b5de4c09e39a63c944dd25efbc234"),
            ("foo_secret", "long_token", "7e91300ea91be4166282611d4fc700b473466f3ea2981dafbf492fc096995bf1"),
            ("test", "test", "88cd2108b5347d973cf39cdf9053d7dd42704876d8c9a9bd8e2d168259d3ddf7"),
            (
                "PRIE7$oG2uS-Yf17kEnUEpi5hvW/#AFo", "helloWorld",
                "cb064987988fcd658470d6a24f1c68f6d7982c80ab9efb08cb8c84ef88fd03e1"
            ),
            (
                "342314a43e", "Just a short Test message",
                "322db18096e205ee3b3fef0a540e5566ac41f7631d5b84add759081814583897"
            ),
        ]
    )
    func classicProof(secret: String, token: String, value: String) {
        let proof = AppSecretProof(of: token, secret: Secret(secret), form: .classic, now: 1_700_000_000)
        #expect(proof.value == value)
        #expect(proof.time == nil)
    }

    @Test("the timed proof covers token and time, and says the time")
    func timedProof() {
        let proof = AppSecretProof(of: "foo_token", secret: Secret("foo_secret"), form: .timed, now: 1_700_000_000)
        #expect(proof.value == "3a7876b8be7ac378e1d8f0c9aa6f39831d7601f7a96a6d11b72aebf8acffcb23")
        #expect(proof.time == 1_700_000_000)
    }

    @Test("every byte but the unreserved ones is encoded")
    func encoding() {
        var target = Target("/graph", ["v25.0", "me"])
        target.add("fields", "id,picture.width(200){url}")
        target.add("x", "AZaz09-._~")
        target.add("y", "+/=&?# %|é\u{0}\r\n")
        #expect(
            target.text
                == "/graph/v25.0/me?fields=id%2Cpicture.width%28200%29%7Burl%7D&x=AZaz09-._~"
                + "&y=%2B%2F%3D%26%3F%23%20%25%7C%C3%A9%00%0D%0A"
        )
        #expect(Target("", ["", "me"]).text == "/me")
        #expect(Target("", ["a/../b", "me"]).text == "/a%2F..%2Fb/me")
    }

    @Test(
        "T-15: only what can be a token is sent",
        arguments: [
            ("EAAx", true), ("a-._~+/=Z9", true), (String(repeating: "a", count: 8192), true), ("", false),
            (String(repeating: "a", count: 8193), false), ("x&fields=id,email&access_token=y", false),
            ("x\r\nX-A: b", false),
            ("x#", false), ("x y", false), ("x+y", true), ("x|y", false), ("x%20y", false), ("é", false),
            ("x\u{0}", false),
            ("x\u{301}", false), ("x?", false), ("x,", false), ("x:", false), ("x\"", false),
        ]
    )
    func tokens(text: String, isToken: Bool) {
        #expect(TokenText.isToken(text) == isToken)
    }

    @Test(
        "the base URL is https, or http to a loopback address, and may have a path",
        arguments: [
            ("https://graph.facebook.com", ""), ("https://graph.facebook.com/", ""), ("http://127.0.0.1:9000", ""),
            ("http://localhost:9000/graph//", "/graph"), ("https://proxy.example/a/b", "/a/b"),
        ]
    )
    func baseURLs(url: String, path: String) throws {
        #expect(try GraphConfiguration(baseURL: url).basePath == path)
    }

    @Test(
        "any other base URL is refused",
        arguments: [
            "", "graph.facebook.com", "http://graph.facebook.com", "http://10.0.0.1", "ftp://127.0.0.1",
            "https://u:p@h.example",
            "https://h.example/?a=b", "https://h.example/#a", "https://h.example/a b",
        ]
    )
    func badBaseURLs(url: String) {
        #expect(throws: CurlError.self) { try GraphConfiguration(baseURL: url) }
    }

    @Test(
        "a failed call is told in our reasons, and what it says about Graph",
        arguments: [
            (.timeout(.connecting), .providerTimeout, .failed), (.timeout(.waiting), .providerTimeout, .failed),
            (.resolve, .providerUnavailable, .failed), (.tls(.certificateExpired), .providerUnavailable, .failed),
            (.library(code: 99), .providerUnavailable, .failed),
            (.connect(errno: 111), .providerUnavailable, .transient),
            (.reset(requestSent: true), .providerUnavailable, .transient),
            (.reset(requestSent: false), .providerUnavailable, .transient),
            (.replyTooLarge, .providerBadReply, .answered),
            (.badReply, .providerBadReply, .answered), (.overloaded, .overloaded, .untold),
            (.cancelled, .overloaded, .untold),
            (.shutDown, .overloaded, .untold), (.invalidRequest(.headerValue), .providerMisconfigured, .untold),
        ] as [(CurlError, Failure.Reason, HealthSignal)]
    )
    func curlErrors(error: CurlError, reason: Failure.Reason, signal: HealthSignal) {
        let fault = ProviderFault(error, of: .facebook)
        #expect(fault.failure.reason == reason)
        #expect(fault.signal == signal)
        #expect(fault.failure.retryAfter != nil || reason == .providerBadReply)
    }
}
