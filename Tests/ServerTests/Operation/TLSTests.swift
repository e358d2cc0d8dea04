import Foundation
import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("TLS of the service's own")
struct TLSTests {
    @Test("TLS 1.2 and 1.3 with forward secrecy, by HTTP/2 or HTTP/1.1 as the client asks; browsers are told to stay")
    func handshakes() async throws {
        try await SecureService.with { service in
            let old = ["-cipher", "DEFAULT@SECLEVEL=0"]
            for version in ["-tls1", "-tls1_1"] {
                #expect(try await service.handshake([version] + old).contains("Cipher is (NONE)"), "\(version)")
            }
            for cipher in ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256"] {
                let said = try await service.handshake(["-tls1_2", "-cipher", cipher + "@SECLEVEL=0"])
                #expect(said.contains("Cipher is (NONE)"), "\(cipher)")
            }
            let modern = try await service.handshake(["-tls1_2", "-alpn", "h2,http/1.1"])
            #expect(modern.contains("Cipher is ECDHE-ECDSA-AES"))
            #expect(modern.contains("ALPN protocol: h2"))
            #expect(modern.contains("Verify return code: 0 (ok)"))
            #expect(try await service.handshake(["-tls1_3", "-alpn", "http/1.1"]).contains("ALPN protocol: http/1.1"))
            #expect(try await service.handshake(["-tls1_3"]).contains("No ALPN negotiated"))

            for (option, version) in [("--http2", "2"), ("--http1.1", "1.1"), ("--no-alpn", "1.1")] {
                let answer = try await service.curl([option], "/openapi.json")
                #expect(answer.status == 200, "\(option): \(answer.error)")
                #expect(answer.version == version)
                #expect(answer.head.contains("strict-transport-security: max-age=31536000"), "\(answer.head)")
                #expect(answer.body.contains(#""openapi""#))
                let lost = try await service.curl([option], "/nothing")
                #expect(lost.status == 404)
                #expect(lost.head.contains("strict-transport-security"))
                // The management listener shares its host with others, which such a header would affect, too.
                let health = try await service.curl([option])
                #expect(health.status == 200)
                #expect(!health.head.contains("strict-transport-security"))
            }
            let plain = try await run("curl", ["-sS", "http://127.0.0.1:\(service.port)/openapi.json"])
            #expect(plain.exitStatus != .exited(0))
            #expect(try await service.warnings() == [])
        }
    }

    @Test("new files count for new connections, at once by SIGHUP, and no request fails meanwhile")
    func renewal() async throws {
        try await SecureService.with { service in
            let folder = service.folder
            let load = ["--http2", "--http1.1"].flatMap { [[$0], [$0, "-H", "Connection: close"]] }
            try await withThrowingTaskGroup(of: String.self) { group in
                for options in load {
                    group.addTask {
                        let ended = try await run(
                            "curl",
                            ["-sS", "--cacert", folder.certificate("authority"), "-o", "/dev/null"] + options
                                + ["-w", "%{http_code}\n", "https://127.0.0.1:\(service.port)/nothing?[1-400]"]
                        )
                        return ended.standardOutput + ended.standardError
                    }
                }
                for number in 1...5 {
                    try await folder.issue("next\(number)")
                    try folder.put("next\(number)", over: "server")
                    service.process.send(signal: SIGHUP)
                    try await eventually("the certificate is the new one") {
                        try await service.handshake([]).contains("CN = next\(number)")
                    }
                }
                for try await codes in group {
                    #expect(Set(codes.split(separator: "\n")) == ["404"])
                    #expect(codes.split(separator: "\n").count == 400)
                }
            }
            // New files are also read without a signal.
            try await folder.issue("last")
            try folder.put("last", over: "server")
            try await eventually("the certificate is the last one") {
                try await service.handshake([]).contains("CN = last")
            }
            #expect(try await service.warnings() == [])
        }
    }

    @Test("a certificate without its key changes nothing, and is a warning until it has one")
    func unfitting() async throws {
        try await SecureService.with { service in
            let folder = service.folder
            try await folder.issue("next")
            try folder.put("next", over: "server", key: false)
            try await eventually("it is a warning") {
                try await service.warnings().contains { $0.contains("does not match the first certificate") }
            }
            #expect(try await service.warnings().count == 2, "one for each listener")
            #expect(try await service.handshake([]).contains("CN = server"))
            service.process.send(signal: SIGHUP)
            #expect(try await service.curl([], "/openapi.json").status == 200)
            try folder.put("next", over: "server", certificate: false)
            try await eventually("it is good again") { try await service.handshake([]).contains("CN = next") }
            try await eventually("it is a warning no more") { try await service.warnings().isEmpty }
            #expect(service.process.standardOutput.contains("still uses its former certificate"))

            try "rubbish".write(toFile: folder.certificate("server"), atomically: true, encoding: .utf8)
            try await eventually("it is a warning") {
                try await service.warnings().contains { $0.contains("contains no PEM certificate") }
            }
            #expect(try await service.handshake([]).contains("CN = next"))
        }
    }

    @Test("a certificate that soon ends, and a key that everybody can read, are warnings")
    func warnings() async throws {
        try await SecureService.with { service in
            let folder = service.folder
            try await folder.issue("short", days: 13)
            try folder.put("short", over: "server")
            try await eventually("it is a warning") {
                try await service.warnings().contains {
                    $0.hasPrefix("The certificate in") && $0.contains(" expires on ")
                }
            }
            try folder.chmod(folder.key("server"), to: 0o644)
            try await eventually("it is a warning") {
                try await service.warnings().contains { $0.contains("All users of this machine can read the key") }
            }
            try await folder.issue("ended", days: -1)
            try folder.put("ended", over: "server")
            try await eventually("it has ended") {
                try await service.warnings(["-k"]).contains { $0.contains("expired on") }
            }
            #expect(try await service.warnings(["-k"]).count == 1)
        }
    }

    @Test("where the management listener wants certificates of clients, nobody gets anything without one")
    func clients() async throws {
        try await SecureService.with(clients: "authority") { service in
            let folder = service.folder
            try await folder.issue("intruder", by: "stranger")
            for options in [[], ["--cert", folder.certificate("intruder"), "--key", folder.key("intruder")]] {
                let refused = try await service.curl(options)
                #expect(refused.status == 0, "\(refused.head)")
                #expect(refused.exit != .exited(0))
            }
            let options = ["--cert", folder.certificate("operator"), "--key", folder.key("operator")]
            for version in ["--http2", "--http1.1"] {
                #expect(try await service.curl(options + [version]).status == 200)
            }
            #expect(try await service.curl([], "/openapi.json").status == 200, "the public listener wants none")
        }
    }

    @Test("files of no use are said at the start, each with its variable")
    func configuration() async throws {
        let folder = try await CertificateFolder.make()
        try await folder.issue("a")
        try await folder.issue("b")
        let ended = try await runFederation(
            ["serve"],
            environment: [
                "FEDERATION_TLS_CERTIFICATE_FILE": folder.certificate("a"),
                "FEDERATION_TLS_KEY_FILE": folder.key("b"),
                "FEDERATION_MANAGEMENT_TLS_CERTIFICATE_FILE": "/nonexistent.pem",
                "FEDERATION_MANAGEMENT_TLS_KEY_FILE": folder.key("a"),
            ]
        )
        #expect(ended.exitStatus == .exited(78))
        #expect(
            ended.standardError.contains("FEDERATION_TLS_KEY_FILE cannot be used: \(folder.key("b")) does not match")
        )
        #expect(
            ended.standardError.contains(
                "FEDERATION_MANAGEMENT_TLS_CERTIFICATE_FILE cannot be used: /nonexistent.pem is missing, empty"
            )
        )
        let half = try await runFederation(
            ["serve"],
            environment: [
                "FEDERATION_TLS_CERTIFICATE_FILE": folder.certificate("a"),
                "FEDERATION_MANAGEMENT_TLS_CLIENT_CA_FILE": folder.certificate("a"),
            ]
        )
        #expect(half.exitStatus == .exited(78))
        for text in [
            "FEDERATION_TLS_KEY_FILE is not; set both for TLS", "CLIENT_CA_FILE is set, and the listener has no TLS",
        ] {
            #expect(half.standardError.contains(text), "\(half.standardError)")
        }
        try folder.remove()
    }

    @Test("docs/clients/pinning.md: the right pin, a wrong one, and a new key that was pinned as a backup")
    func pinning() async throws {
        try await SecureService.with { service in
            let folder = service.folder
            try await folder.issue("backup")
            let (pin, backup) = (try await folder.pin("server"), try await folder.pin("backup"))
            func answer(_ pins: String...) async throws -> SecureService.Answer {
                try await service.curl(["--pinnedpubkey", pins.joined(separator: ";")], "/openapi.json")
            }
            #expect(try await answer(pin).status == 200)
            #expect(try await answer(pin, backup).status == 200)
            #expect(try await answer(backup).exit == .exited(90), "CURLE_SSL_PINNEDPUBKEYNOTMATCH")
            // A new certificate for the same key keeps the pin valid.
            try await folder.issue("server", sameKey: true)
            try await eventually("it is read") { service.process.standardOutput.contains("certificate read") }
            #expect(try await answer(pin).status == 200)
            try folder.put("backup", over: "server")
            try await eventually("it is the backup") { try await service.handshake([]).contains("CN = backup") }
            #expect(try await answer(pin).exit == .exited(90))
            #expect(try await answer(pin, backup).status == 200)
        }
    }
}
