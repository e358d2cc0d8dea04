import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Bad input: the reason, code and status of the error table, and nothing written",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        Document(application: "other", keyVariable: "OTHER_API_KEY")
    )
)
struct BadInputTests {
    /// The limit of a body in bytes.
    private static let limit = 65_536

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("what is not JSON by the letter of RFC 8259 is malformed")
    func notJSON() async throws {
        let token = try await deployment.newcomer().token
        let deep = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        let texts: [String] = [
            "", " ", "accessToken=\(token)", "{", "[]", "null", "7", "\"\(token)\"", #"{"accessToken": "\#(token)",}"#,
            #"{"accessToken": "\#(token)"} x"#, #"{"accessToken": "\#(token)"}{}"#, #"{accessToken: "\#(token)"}"#,
            #"{'accessToken': '\#(token)'}"#, "\u{FEFF}{\"accessToken\": \"\(token)\"}",
            #"{"accessToken": "\#(token)\u0000"}"#,
            #"{"accessToken": "\#(token)\ud800"}"#, #"{"accessToken": 7}"#, #"{"accessToken": ["\#(token)"]}"#,
            #"{"accessToken": {"text": "\#(token)"}}"#, #"{"accessToken": true}"#,
            #"{"accessToken": "\#(token)", "appId": 1234567890}"#,
            #"{"accessToken": "\#(token)", "x": \#(deep)}"#,
            #"{"accessToken": "\#(token)", "\#(String(repeating: "k", count: 129))": 1}"#,
            #"{"accessToken": "\#(token)", "x": [\#(Array(repeating: "1", count: 512).joined(separator: ","))]}"#,
            #"{"accessToken": "\#(token)", "ключ": 1}"#, "{\"accessToken\": \"\(token)\n\"}",
        ]
        try await deployment.expectNothingWritten {
            for text in texts {
                try expectProblem(try await deployment.login(body: text), "malformed_request", "\(text.prefix(80))")
            }
            let invalid = Array(#"{"accessToken": "\#(token)"#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
            let reply = try await deployment.client.send(
                "POST",
                deployment.path("users/loginWithFacebook"),
                headers: [("Content-Type", "application/json")],
                body: invalid
            )
            try expectProblem(reply, "malformed_request")
        }
    }

    @Test("a body that is not said to be JSON is refused, whatever it holds")
    func contentTypes() async throws {
        let body = Array(#"{"accessToken": "\#(try await deployment.newcomer().token)"}"#.utf8)
        let types: [String?] = [
            nil, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp",
            "json",
            "application/x-json", "text/json", "application/json+x", "x-application/json",
        ]
        try await deployment.expectNothingWritten {
            for type in types {
                let headers = type.map { [("Content-Type", $0)] } ?? []
                let path = deployment.path("users/loginWithFacebook")
                let reply = try await deployment.client.send("POST", path, headers: headers, body: body)
                try expectProblem(reply, "unsupported_media_type", "\(type ?? "none")")
            }
        }
    }

    @Test("JSON with a character set, in whatever case, is JSON")
    func jsonTypes() async throws {
        for type in ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"] {
            let body = Array(#"{"accessToken": "\#(try await deployment.newcomer().token)"}"#.utf8)
            let path = deployment.path("users/loginWithFacebook")
            let reply = try await deployment.client.send("POST", path, headers: [("Content-Type", type)], body: body)
            #expect(reply.status == 200, "\(type): \(reply.text)")
        }
    }

    @Test("64 KiB are taken, one byte more is not, whether its length is announced or not")
    func size() async throws {
        let token = try await deployment.newcomer().token
        func body(of size: Int) -> [UInt8] {
            let start = #"{"accessToken": "\#(token)", "x": ""#
            return Array((start + String(repeating: "x", count: size - start.utf8.count - 2) + #""}"#).utf8)
        }
        let path = deployment.path("users/loginWithFacebook")
        let json = [("Content-Type", "application/json")]
        let chunked = json + [("Transfer-Encoding", "chunked")]
        for headers in [json, chunked] {
            try await deployment.expectNothingWritten {
                let reply = try await deployment.client.send(
                    "POST",
                    path,
                    headers: headers,
                    body: body(of: Self.limit + 1)
                )
                try expectProblem(reply, "payload_too_large")
            }
            let reply = try await deployment.client.send("POST", path, headers: headers, body: body(of: Self.limit))
            #expect(reply.status == 200, "\(reply.text)")
        }
        // A body that is announced and never sent: the response does not wait for it.
        let announced = try await deployment.client.exchange(
            "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n{",
            within: .seconds(5)
        )
        #expect(announced.text.hasPrefix("HTTP/1.1 413"))
    }

    @Test("an unknown application and a wrong key get the same answer")
    func unknownApplication() async throws {
        let body = #"{"accessToken": "\#(try await deployment.newcomer().token)"}"#
        let key = Canary.apiKey
        let bases = [
            "nobody/\(key)", "demo/canary_wrong_key_0123456789", "demo/\(Canary.otherAPIKey)", "other/\(key)",
            "Demo/\(key)", "demo/\(key.uppercased())", "demo/\(key)x", "demo/\(key.dropLast())", "demo/%20\(key)",
            "d%65mo1/\(key)", "demo%00/\(key)", "../\(key)", "%27/\(key)", "d\u{435}mo/\(key)",
        ]
        var messages: Set<String> = []
        try await deployment.expectNothingWritten {
            for base in bases {
                let path = "/\(base)/users/loginWithFacebook"
                let escaped = path.addingPercentEncoding()
                let reply = try await deployment.client.post(escaped, json: body)
                try expectProblem(reply, oneOf: ["unknown_application", "not_found"], "\(base)")
                messages.insert(JSON.object(reply.text)?["message"]?.string ?? "")
            }
        }
        #expect(messages.count <= 2)
    }

    @Test("an appId that is none of the application's is refused")
    func unknownAppID() async throws {
        let token = try await deployment.newcomer().token
        try await deployment.expectNothingWritten {
            for id in ["9999999999", "123456789", " 1234567890", "x"] {
                let reply = try await deployment.login(body: #"{"accessToken": "\#(token)", "appId": "\#(id)"}"#)
                try expectProblem(reply, "provider_not_configured", "\(id)")
            }
        }
    }
}

extension String {
    /// Returns the text with every non-ASCII byte percent-encoded.
    fileprivate func addingPercentEncoding() -> String {
        utf8.reduce(into: "") { text, byte in
            text += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
        }
    }
}
