import Domain
import Encodings
import Testing
@testable import Twitter

@Suite("Signatures of OAuth 1.0a")
struct OAuthSignatureTests {
    /// Credentials and signatures of Twitter's documentation, and ours for the two requests of the service.
    ///
    /// See docs/protocols/twitter.md §5.
    private static let vectors: [(String, String, [OAuthParameter], hasToken: Bool, String)] = [
        ("POST", "https://api.twitter.com/1/statuses/update.json", status, true, "tnnArxj06cWHq44gCs1OSKk/jLY="),
        ("POST", "https://api.twitter.com/1.1/statuses/update.json", status, true, "hCtSmYh+iHYCEqBWrE7C7hYmtUk="),
        ("POST", "https://api.x.com/1.1/statuses/update.json", status, true, "Ls93hJiZbQ3akF3HF3x1Bz8/zU4="),
        (
            "GET", "https://api.twitter.com/1.1/account/verify_credentials.json",
            [
                OAuthParameter("include_email", "true"), OAuthParameter("include_entities", "false"),
                OAuthParameter("skip_status", "true"),
            ], true, "CidLqwNA2NLXmGG8y33QH86ByIg="
        ),
        (
            "POST", "https://api.twitter.com/oauth/request_token", [OAuthParameter("x_auth_mode", "reverse_auth")],
            false, "AmaTqGRjXP0JPcohjOJJ10sitP4="
        ),
    ]

    private static let status = [
        OAuthParameter("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
        OAuthParameter("include_entities", "true"),
    ]

    @Test("the vectors of Twitter's documentation, in the header that we send", arguments: vectors)
    func documented(
        method: String,
        url: String,
        parameters: [OAuthParameter],
        hasToken: Bool,
        signature: String
    ) throws {
        let consumer = try Consumer(
            key: "xvz1evFS4wEEPTGEFPHBog",
            secret: Secret("kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw")
        )
        let token = try AccessToken(
            Secret("370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"),
            secret: Secret("LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE")
        )
        let header = consumer.authorization(
            of: TwitterRequest(
                call: .requestToken,
                method: method == "GET" ? .get : .post,
                path: "",
                parameters: parameters
            ),
            at: url,
            token: hasToken ? token : nil,
            nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
            timestamp: 1_318_622_958
        )
        #expect(header.hasPrefix(#"OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", oauth_nonce="kYj"#))
        #expect(header.hasSuffix(#", oauth_signature="\#(PercentEncoding.encode(signature))""#))
        #expect(header.contains("oauth_token=") == hasToken)
        #expect(!header.contains("include_"))
    }

    @Test("RFC 5849 §3.4.1.1: names twice, names without a value, encoded characters in names")
    func standard() {
        let parameters = [
            ("b5", "=%3D"), ("a3", "a"), ("c@", ""), ("a2", "r b"), ("c2", ""), ("a3", "2 q"),
            ("oauth_consumer_key", "9djdj82h48djs9d2"), ("oauth_token", "kkk9d7dh3k39sjv7"),
            ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", "137131201"), ("oauth_nonce", "7d8f3e4a"),
        ]
        let base = OAuthSignature.baseString(
            method: "POST",
            url: "http://EXAMPLE.COM:80/request",
            parameters: parameters.map { OAuthParameter($0.0, $0.1) }
        )
        #expect(
            base == """
                POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2\
                %3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth\
                _timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
                """
        )
    }

    /// The expected signatures come from Python's hmac.
    @Test("other alphabets, plus, tilde and percent, in values and in secrets; sorting by encoded bytes")
    func characters() {
        let oauth = [
            ("oauth_consumer_key", "key"), ("oauth_nonce", "n"), ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1700000000"), ("oauth_version", "1.0"), ("oauth_token", "tok"),
        ]
        func signature(_ method: String, _ parameters: [(String, String)], _ secrets: (String, String)) -> String {
            let base = OAuthSignature.baseString(
                method: method,
                url: "https://api.twitter.com/x",
                parameters: (parameters + oauth).map { OAuthParameter($0.0, $0.1) }
            )
            let key = OAuthSignature.key(consumerSecret: secrets.0, tokenSecret: secrets.1)
            return OAuthSignature.sign(base, key: key)
        }
        let odd = [
            ("name", "Ä東🙂"), ("tilde", "a~b-._"), ("plus", "a+b c"), ("percent", "100%"), ("star", "*'()!"),
        ]
        #expect(signature("POST", odd, ("s&c=r", "t/o+k")) == "I1cXzXrNWUjiKaHXcQTyVevYjec=")
        let order = [("a", "2"), ("a", "10"), ("a b", "1"), ("a-b", "3"), ("é", "1"), ("z", "")]
        #expect(signature("GET", order, ("s", "")) == "l2izvUdSx/dT6CFEY0Fx6mIFQOQ=")
        #expect(OAuthSignature.key(consumerSecret: "s&c=r", tokenSecret: "t/o+k") == "s%26c%3Dr&t%2Fo%2Bk")
        #expect(OAuthSignature.key(consumerSecret: "s", tokenSecret: nil) == "s&")
    }

    @Test(
        "the scheme's own port is not signed, every other one is, and the path keeps its case",
        arguments: [
            ("HTTPS://API.Twitter.com:443/1.1/A.json", "https://api.twitter.com/1.1/A.json"),
            ("https://api.twitter.com:80/", "https://api.twitter.com:80/"),
            ("http://127.0.0.1:9090/1.1/x", "http://127.0.0.1:9090/1.1/x"),
            ("http://[::1]:80/x", "http://[::1]/x"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x"),
            ("https://api.twitter.com", "https://api.twitter.com/"),
        ]
    )
    func addresses(url: String, signed: String) {
        let base = OAuthSignature.baseString(method: "GET", url: url, parameters: [])
        #expect(base == "GET&\(PercentEncoding.encode(signed))&")
    }
}
