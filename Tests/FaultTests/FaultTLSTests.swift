import FoundationEssentials
import Glibc
import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultTests {
    @Suite("Graph is not who it should be, or nowhere")
    struct Transport {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        /// A server that must be refused for its certificate or its behavior.
        private struct Impostor {
            let name: String
            var certificate = "good"
            var options: [String] = []
            /// The number of its own bytes after which the server closes.
            var closesAfter: Int?
        }

        /// The servers; fewer than the consecutive failures that open the circuit breaker.
        private static let impostors = [
            Impostor(name: "expired", certificate: "expired"),
            Impostor(name: "wrong host", certificate: "wrong-host"),
            Impostor(name: "self-signed", certificate: "self-signed"),
            Impostor(name: "unknown issuer", certificate: "unknown-issuer"),
            Impostor(name: "TLS 1.0 only", options: ["-tls1", "-cipher", "DEFAULT@SECLEVEL=0"]),
            Impostor(name: "closes in the handshake", closesAfter: 0),
            Impostor(name: "closes in the middle of its certificate", closesAfter: 200),
        ]

        @Test("F-08: a server that cannot be authenticated gets no byte of a token or secret, and the login is refused")
        func impostors() async throws {
            let certificates = try await Certificates.make()
            let upstream = try freePort()
            let visitors = try await faults.newcomers(Self.impostors.count + 1)
            try await withFaultyProxy(to: upstream) { proxy in
                let environment = [
                    "FEDERATION_GRAPH_URL": "https://127.0.0.1:\(proxy.port)",
                    "FEDERATION_CA_FILE": certificates.authority,
                ]
                try await faults.withInstance(environment) { instance in
                    for (impostor, visitor) in zip(Self.impostors, visitors) {
                        let comment: Comment = "\(impostor.name)"
                        let options = impostor.options
                        let server = try await certificates.serve(impostor.certificate, on: upstream, options: options)
                        if let count = impostor.closesAfter { proxy.cut(after: count, .toClient, by: .close) }
                        let before = proxy.traffic
                        try await instance.expectNothingWritten {
                            let attempt = try await faults.logIn(visitor, at: instance)
                            faults.expectAllRefused([attempt], ["provider_unavailable"], comment)
                        }
                        #expect(proxy.traffic.accepted > before.accepted, "it was called")
                        #expect(proxy.traffic.delivered > before.delivered || impostor.closesAfter == 0, comment)
                        try await proxy.heal()
                        try await server.kill()
                        #expect(!server.standardOutput.contains("EAAcanary"), comment)
                        #expect(!server.standardOutput.contains("GET "), comment)
                        #expect(!server.standardOutput.contains(visitor.id), comment)
                    }
                    try await expectTalk(
                        certificates,
                        port: upstream,
                        visitor: visitors[Self.impostors.count],
                        instance: instance
                    )
                }
            }
            try FileManager.default.removeItem(atPath: certificates.directory)
            try await faults.checkInvariants()
        }

        /// Expects that a valid server receives the request, which shows that the test above would notice a leak.
        private func expectTalk(
            _ certificates: Certificates,
            port: Int,
            visitor: Visitor,
            instance: Deployment
        ) async throws {
            let server = try await certificates.serve("good", on: port)
            let attempt = try await faults.logIn(visitor, at: instance)
            // The server never responds, and serves one connection at a time.
            faults.expectAllRefused([attempt], ["provider_timeout", "provider_unavailable"])
            try await server.kill()
            #expect(server.standardOutput.contains("GET /v"))
            #expect(server.standardOutput.contains(visitor.token))
        }

        @Test("F-09: a name that does not exist refuses the login in time; everything else works")
        func unknownName() async throws {
            let visitor = try await faults.newcomers(1)[0]
            let session = try await faults.instances[0].loggedIn(try await faults.regulars(1)[0])
            try await faults.withInstance(["FEDERATION_GRAPH_URL": "https://does-not-exist.invalid"]) { instance in
                try await instance.expectNothingWritten {
                    async let attempts = faults.logIn([visitor, visitor, visitor], at: instance)
                    #expect(try await instance.get("users/isvalidusertoken/\(session.token)").text == "true")
                    #expect(try await instance.service.management.get("/health/ready").status == 200)
                    // If no name server responds, the timeout of the call ends the lookup.
                    faults.expectAllRefused(try await attempts, ["provider_unavailable", "provider_timeout"])
                }
            }
            try await faults.checkInvariants()
        }
    }
}

/// Certificates of an authority that the service trusts, and of others.
private struct Certificates {
    let directory: String

    /// The PEM file of the authority.
    var authority: String { "\(directory)/authority.pem" }

    static func make() async throws -> Certificates {
        let directory = FileManager.default.temporaryDirectory.path + "/federation-test-\(UUID())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let certificates = Certificates(directory: directory)
        try await certificates.sign("authority", "basicConstraints=critical,CA:TRUE")
        try await certificates.sign("stranger", "basicConstraints=critical,CA:TRUE")
        try await certificates.sign("self-signed", "subjectAltName=IP:127.0.0.1")
        try await certificates.issue("good", names: "IP:127.0.0.1")
        try await certificates.issue("expired", names: "IP:127.0.0.1", days: -1)
        try await certificates.issue("wrong-host", names: "DNS:graph.facebook.com,IP:127.0.0.2")
        try await certificates.issue("unknown-issuer", by: "stranger", names: "IP:127.0.0.1")
        return certificates
    }

    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func sign(_ name: String, _ `extension`: String) async throws {
        try await openssl(
            [
                "req", "-x509", "-days", "2", "-subj", "/CN=\(name)", "-keyout", "\(directory)/\(name).key", "-out",
                "\(directory)/\(name).pem", "-addext", `extension`,
            ] + Self.key
        )
    }

    private func issue(_ name: String, by issuer: String = "authority", names: String, days: Int = 2) async throws {
        let path = "\(directory)/\(name)"
        try await openssl(
            ["req", "-new", "-subj", "/CN=\(name)", "-keyout", "\(path).key", "-out", "\(path).csr"] + Self.key
        )
        try Data("subjectAltName=\(names)\n".utf8).write(to: URL(filePath: "\(path).ext"))
        try await openssl([
            "x509", "-req", "-in", "\(path).csr", "-CA", "\(directory)/\(issuer).pem", "-CAkey",
            "\(directory)/\(issuer).key", "-CAcreateserial", "-days", "\(days)", "-extfile", "\(path).ext", "-out",
            "\(path).pem",
        ])
    }

    private func openssl(_ arguments: [String]) async throws {
        let ended = try await run("openssl", arguments)
        try #require(ended.exitStatus == .exited(0), "\(ended.standardError)")
    }

    /// Starts a TLS server that prints what it receives and never responds.
    func serve(_ name: String, on port: Int, options: [String] = []) async throws -> ManagedProcess {
        let path = "\(directory)/\(name)"
        let input = "\(path).in"
        if !FileManager.default.fileExists(atPath: input) { try #require(mkfifo(input, 0o600) == 0) }
        // The server ends at the end of its input, and a pipe that the server itself holds open has no end.
        let server = try await ManagedProcess.start(
            "bash",
            [
                "-c", #"exec openssl s_server "$@" <>"$0""#, input, "-accept", "127.0.0.1:\(port)", "-cert",
                "\(path).pem", "-key", "\(path).key",
            ] + options
        )
        try await server.waitUntilReady { server.standardOutput.contains("ACCEPT") }
        return server
    }
}
