import Domain
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "The client examples",
    .serialized,
    .deployed(
        // Mails of an application with this name are quoted-printable.
        Document(
            name: "Démo",
            consumers: ["demoConsumerKey"],
            options: #""returnUrls": ["com.example.app:/done"]"#,
            settings: #"""
                {"tokens": {"enabled": true, "audience": "orders"},
                 "secondFactor": {"policy": "optional", "factors": ["totp", "recoveryCode", "sms", "email"],
                                  "trustedDeviceDays": 30, "sms": {"countries": ["+41"]}}}
                """#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(application: "shop", keyVariable: "OTHER_API_KEY", settings: #"{"tokens": {"enabled": true}}"#),
        environment: mails.environment
    )
)
struct ClientExampleTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var service: String { "http://127.0.0.1:\(deployment.client.port)" }
    private var base: String { service + deployment.path("").dropLast() }

    /// Returns the examples of a page in one language, each with the heading above it.
    private static func examples(_ page: String, in language: String) throws -> [(heading: String, text: String)] {
        let text = try String(contentsOfFile: PackageLayout.path("docs/clients/\(page)"), encoding: .utf8)
        var heading = ""
        var examples: [(String, String)] = []
        for (index, part) in text.split(separator: "```", omittingEmptySubsequences: false).enumerated() {
            if index.isMultiple(of: 2) {
                let headings = part.split(separator: "\n").filter { $0.hasPrefix("#") }
                heading = headings.last.map { String($0.drop { $0 == "#" || $0 == " " }) } ?? heading
            } else if part.hasPrefix(language + "\n") {
                examples.append((heading, String(part.dropFirst(language.count + 1))))
            }
        }
        return examples
    }

    /// Runs a program, requires success, and returns its standard output.
    private func output(
        of program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let process = try await run(program, arguments, environment: environment)
        try #require(
            process.exitStatus == .exited(0),
            "\(process.standardOutput)\n\(process.standardError)",
            sourceLocation: sourceLocation
        )
        return process.standardOutput
    }

    // MARK: curl

    /// Runs the commands of a page as one session and returns the output per heading.
    private func session(of page: String, curl: String) async throws -> ([String: String], ManagedProcess) {
        let examples = try Self.examples(page, in: "sh")
        #expect(examples.count > 8)
        let script = examples.map { "echo '\u{1}\($0.heading)'\n\($0.text)" }.joined(separator: "\n")
        let preamble = "set -euo pipefail; cd \"$ROOT\"; curl() { command \(curl) -sS \"$@\"; echo; }; "
        let process = try await run(
            "bash",
            ["-c", preamble + script],
            environment: [
                "ROOT": PackageLayout.root, "SERVICE": service, "BASE": base, "MAILS": mails.path,
                "CONTROL": "http://127.0.0.1:\(deployment.simulator.control.port)",
                "ISSUER": "https://users.example.com/demo", "APPLICATION": "demo",
            ]
        )
        var outputs: [String: String] = [:]
        for part in process.standardOutput.split(separator: "\u{1}") {
            let heading = String(part.prefix { $0 != "\n" })
            outputs[heading, default: ""] += part.dropFirst(heading.count)
        }
        return (outputs, process)
    }

    @Test("curl.md is one session that works from top to bottom")
    func curl() async throws {
        // In a script, unlike in an interactive shell, a refusal must stop the session.
        let (outputs, process) = try await session(of: "curl.md", curl: "curl --fail-with-body")
        func expect(_ heading: String, _ signs: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            let output = outputs[heading] ?? "nothing; \(process.standardError)"
            for sign in signs {
                #expect(output.contains(sign), "\(heading): \(output)", sourceLocation: sourceLocation)
            }
        }
        expect("Register", #""email":"ann@example.com""#, #""socialAccount":"BACKENDLESS""#)
        #expect(outputs["Register"]?.contains("user-token") == false)
        expect("Log in", "\ntrue\n", #""name":"Ann""#, #""name":"Ann Other""#)
        expect("Log in with Facebook", "Federation-User-Created: true", #""socialAccount":"FACEBOOK""#, "user-token")
        expect("Limited Login", "Federation-User-Created: false", #""socialAccount":"FACEBOOK""#, "user-token")
        expect("Link Twitter", #""provider":"twitter""#, #""provider":"password""#, #""user-token""#)
        expect("See and end sessions", #""current":true"#, #""current":false"#, #"{"ended":1}"#)
        expect("Have a token signed and check it", #""kty":"EC""#, #""iss":"https://users.example.com/demo""#)
        expect("Restore a password", "HTTP/1.1 200 OK", "\nfalse\n")
        expect("Log out", "\nfalse\n")
        expect("When something fails", #""reason":"login_invalid""#)
        #expect(process.exitStatus == .exited(22), "the last one is refused: \(process.standardError)")
    }

    @Test("second-factor.md is one session that works from top to bottom")
    func secondFactor() async throws {
        let (outputs, process) = try await session(of: "second-factor.md", curl: "curl")
        #expect(process.exitStatus == .exited(0), "\(process.standardOutput)\n\(process.standardError)")
        func expect(_ heading: String, _ signs: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            let output = outputs[heading] ?? "nothing; \(process.standardError)"
            for sign in signs {
                #expect(output.contains(sign), "\(heading): \(output)", sourceLocation: sourceLocation)
            }
        }
        expect("Log in with it", #""code":8180"#, #""kind":"totp""#, #""trusted-device""#, #""user-token":""#)
        expect("With a recovery code", #""codesLeft":9"#)
        expect("With a code by mail", #"{"kind":"email","sentTo":"c•••@e•••.com"}"#, #""lastUsed""#)
        expect("With a code by SMS", #""sentTo":"+41 •••• 67""#)
        expect("Step-up", "HTTP/1.1 200 OK", "HTTP/1.1 204 No Content")
        #expect(!process.standardOutput.contains(#""reason""#), "nothing was refused but what was to be")
    }

    // MARK: JavaScript

    @Test("session.mjs holds the SDK's conversation")
    func session() async throws {
        let visitor = try await deployment.newcomer()
        let output = try await output(
            of: "node",
            [PackageLayout.path("docs/clients/javascript/session.mjs")],
            environment: ["FEDERATION_BASE": base, "FACEBOOK_TOKEN": visitor.token]
        )
        let steps = output.split(separator: "\n").map { $0.split(separator: " ").dropLast().joined(separator: " ") }
        #expect(
            steps == [
                "registered", "logged in", "changed", "logged out", "logged in with Facebook", "logged out",
            ]
        )
    }

    @Test("the script of second-factor.html is JavaScript")
    func secondFactorPage() async throws {
        let page = try String(
            contentsOfFile: PackageLayout.path("docs/clients/javascript/second-factor.html"),
            encoding: .utf8
        )
        let script = try #require(page.firstMatch(of: /<script type="module">(?<text>[\s\S]*)<\/script>/)?.output.text)
        let file = FileManager.default.temporaryDirectory.appending(path: "second-factor-\(UUID()).mjs")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(script.utf8).write(to: file)
        _ = try await output(of: "node", ["--check", file.path])
    }

    @Test("check-token.mjs refuses what is not signed, not ours, another application's, for somebody else, or over")
    func signedTokens() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let reply = try await deployment.get("users/token", token: session.token)
        let token = try #require(JSON.object(reply.text)?["token"]?.string)
        let issuer = "https://users.example.com/demo"
        func check(
            _ token: String,
            _ issuer: String,
            _ audience: String,
            keys path: String = "/demo",
            daysFromNow days: Int = 0
        ) async throws -> ManagedProcess {
            let script = #"node "$0" "$1" "$2" "$3" <<<"$4""#
            let program = PackageLayout.path("docs/clients/javascript/check-token.mjs")
            let keys = "\(service)\(path)/.well-known/jwks.json"
            let clock = "{const{now}=Date;Date.now=()=>now()+\(days)*864e5}"
            return try await run(
                "bash",
                ["-c", script, program, keys, issuer, audience, token],
                environment: ["NODE_OPTIONS": "--import=data:text/javascript,\(clock)"]
            )
        }
        let right = try await check(token, issuer, "orders")
        #expect(JSON.object(right.standardOutput)?["sub"]?.string == session.objectID, "\(right.standardError)")

        let parts = token.split(separator: ".").map(String.init)
        let claims = try #require(Base64URL.decode(parts[1].utf8).map { String(decoding: $0, as: UTF8.self) })
        let forged = Base64URL.encode(Array(claims.replacing(session.objectID, with: "OTHER").utf8))
        let unsigned = Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
        for (token, issuer, audience, sign) in [
            ("\(parts[0]).\(forged).\(parts[2])", issuer, "orders", "signature"),
            ("\(unsigned).\(parts[1]).", issuer, "orders", "algorithm"),
            (token, "https://users.example.com/other", "orders", "somebody else has issued"),
            (token, issuer, "invoices", "for somebody else"),
            ("x", issuer, "orders", "no signed token"),
        ] {
            let refused = try await check(token, issuer, audience)
            #expect(refused.exitStatus == .exited(1))
            #expect(refused.standardOutput == "")
            #expect(refused.standardError.contains(sign), "\(refused.standardError)")
        }
        // A token of another application: each of issuer, audience and key set refuses it without the other two.
        let shop = deployment.documents[1]
        let other = try await deployment.loggedIn(try await deployment.newcomer(), to: shop)
        let theirs = try await deployment.get("users/token", token: other.token, of: shop)
        let foreign = try #require(JSON.object(theirs.text)?["token"]?.string)
        let (shopIssuer, shopAudience) = ("https://users.example.com/shop", "shop")
        let accepted = try await check(foreign, shopIssuer, shopAudience, keys: "/shop")
        #expect(accepted.exitStatus == .exited(0), "\(accepted.standardError)")
        for (issuer, audience, keys, sign) in [
            (shopIssuer, shopAudience, "/demo", "not published"),
            (issuer, shopAudience, "", "somebody else has issued"),
            (shopIssuer, "orders", "", "for somebody else"), (shopIssuer, "", "/shop", "usage"),
        ] {
            let refused = try await check(foreign, issuer, audience, keys: keys)
            #expect(refused.exitStatus == .exited(1))
            #expect(refused.standardError.contains(sign), "\(refused.standardError)")
        }
        let late = try await check(token, issuer, "orders", daysFromNow: 1)
        #expect(late.exitStatus == .exited(1))
        #expect(late.standardError.contains("has expired"), "\(late.standardError)")
    }

    // MARK: Swift

    @Test("the Swift client compiles, logs in by a password as swift.md shows, and by Facebook with PKCE")
    func swift() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/federation-client-\(UUID())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let passwords = try #require(try Self.examples("swift.md", in: "swift").last).text
        try Data(Self.program(passwords: passwords).utf8).write(to: URL(filePath: folder + "/main.swift"))
        let sources = ["FederationClient", "FacebookLogin"].map { PackageLayout.path("docs/clients/swift/\($0).swift") }
        let program = folder + "/client"
        _ = try await output(
            of: "swiftc",
            ["-swift-version", "6", "-warnings-as-errors", "-o", program] + sources + [folder + "/main.swift"]
        )
        func client(_ arguments: String...) async throws -> [String] {
            let lines = try await output(of: program, arguments, environment: ["BASE": base]).split(separator: "\n")
            return lines.map(String.init)
        }

        #expect(
            try await client("passwords", "swift.canary@example.com", Deployment.password) == [
                "wrong address or password", "swift.canary@example.com", "false",
            ]
        )

        let visitor = try await deployment.newcomer(#"{"email": "facebook.canary@example.com"}"#)
        func end(_ answer: Deployment.Answer) async throws -> String {
            let address = try #require(try await client("begin", ProofKey.challenge).first)
            let callback = try await deployment.answer(try Address(address), as: visitor, answer)
            return try #require(try await deployment.comeBack(to: callback).header("Location"))
        }
        let arrived = try await end(.allow(["email"]))
        #expect(arrived.hasPrefix("com.example.app:/done?"))
        let user = try await client("finish", arrived, ProofKey.verifier)
        #expect(user.first == "facebook.canary@example.com")
        #expect(try await deployment.isValid(user.last ?? ""))
        let wrong = String(ProofKey.verifier.reversed())
        #expect(try await client("finish", try await end(.allow(["email"])), wrong) == ["credential_invalid"])
        #expect(try await client("finish", try await end(.cancel), ProofKey.verifier) == ["login_cancelled"])
    }

    /// Returns a program that uses the client as an app does; each invocation is one step.
    private static func program(passwords: String) -> String {
        """
        import Foundation

        let client = FederationClient(base: URL(string: ProcessInfo.processInfo.environment["BASE"]!)!)

        func passwords(email: String, password: String) async throws {
        \(passwords)
        }

        let arguments = CommandLine.arguments
        do {
            switch arguments[1] {
            case "passwords": try await passwords(email: arguments[2], password: arguments[3])
            case "begin":
                let end = URL(string: "com.example.app:/done")!
                print(try await client.facebookDialog(returningTo: end, challenge: arguments[2]))
            default:
                let user = try await client.finishLogin(at: URL(string: arguments[2])!, verifier: arguments[3])
                print(user.email ?? "", user.token ?? "", separator: "\\n")
            }
        } catch let failure as FederationClient.Failure {
            print(failure.reason)
        } catch let end as FederationClient.LoginEnded {
            print(end.reason)
        }
        """
    }
}
