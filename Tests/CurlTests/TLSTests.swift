import Curl
import Foundation
import Testing

@Suite("TLS")
struct TLSTests {
    @Test(
        "F-08: a server that cannot be authenticated is refused before a byte of the request goes out",
        arguments: [
            (Nginx.Site(certificate: "expired"), CurlError.TLSFailure.certificateExpired),
            (Nginx.Site(certificate: "wrong-host"), .certificateOfAnotherHost),
            (Nginx.Site(certificate: "self-signed"), .certificateSelfSigned),
            (Nginx.Site(certificate: "unknown-issuer"), .certificateIssuerUnknown),
            (Nginx.Site(certificate: "good", protocols: "TLSv1"), .handshake),
            (Nginx.Site(certificate: "good", protocols: "TLSv1.1"), .handshake),
            (Nginx.Site(certificate: nil), .handshake),
        ]
    )
    func refused(_ site: Nginx.Site, _ expected: CurlError.TLSFailure) async throws {
        let certificates = try await Certificates.make()
        let nginx = try await Nginx.start([site, Nginx.Site(certificate: "good")], certificates: certificates)
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        let error = await client.failure(of: try request(.get, "https://localhost:\(nginx.ports[0])/?token=canary"))
        #expect(error == .tls(expected))
        // The same client reaches the good server, and only the good server sees a request.
        let reply = try await client.send(request(.get, "https://localhost:\(nginx.ports[1])/fine"))
        #expect(reply.status == 200)
        #expect(await eventually { nginx.log.contains { $0.target == "/fine" } })
        // A server without TLS logs the handshake as a bad request.
        #expect(
            nginx.log.allSatisfy {
                $0.port == nginx.ports[1] || site.certificate == nil && !$0.target.contains("token")
            }
        )
    }

    @Test("F-08: the server of old versions does speak them, to those who still do", arguments: ["tls1", "tls1_1"])
    func oldVersionsWork(_ version: String) async throws {
        let certificates = try await Certificates.make()
        let site = Nginx.Site(certificate: "good", protocols: "TLSv1 TLSv1.1")
        let nginx = try await Nginx.start([site], certificates: certificates)
        let address = "127.0.0.1:\(nginx.ports[0])"
        let result = try await onThread {
            try Program.run("openssl", ["s_client", "-connect", address, "-\(version)", "-cipher", "ALL:@SECLEVEL=0"])
        }
        #expect(result.status == 0)
        #expect(String(decoding: result.output, as: UTF8.self).contains("BEGIN CERTIFICATE"))
    }

    @Test("F-08: a connection that ends in the handshake")
    func closeInHandshake() async throws {
        let received = Received()
        let server = try ScriptedServer { connection in
            received.append(connection.read(atMost: 65536) ?? [])
        }
        let client = try CurlClient()
        let error = await client.failure(of: try request(.get, "https://localhost:\(server.port)/?token=canary"))
        #expect(error == .tls(.handshake))
        #expect(!received.bytes.isEmpty)
        #expect(!String(decoding: received.bytes, as: UTF8.self).contains("canary"))
    }

    @Test("F-08: a handshake that never ends is left at the connect limit, by calls that wait for it, too")
    func hangInHandshake() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        let client = try CurlClient()
        let call = try request(
            .get,
            "https://localhost:\(server.port)/",
            timeout: .seconds(20),
            connectTimeout: .milliseconds(400)
        )
        let start = ContinuousClock.now
        let errors = await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<50 { group.addTask { await client.failure(of: call) } }
            return await group.reduce(into: [CurlError?]()) { $0.append($1) }
        }
        #expect(errors.count == 50)
        #expect(errors.allSatisfy { $0 == .timeout(.connecting) })
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test("an unreadable file of authorities is told as our own fault")
    func unreadableAuthorities() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        let client = try CurlClient(configuration: CurlConfiguration(caFile: "/nonexistent/authorities.pem"))
        let error = await client.failure(of: try request(.get, "https://localhost:\(server.port)/"))
        #expect(error == .tls(.authorityFileUnreadable))
    }

    @Test("callers share an HTTP/2 connection")
    func sharing() async throws {
        let certificates = try await Certificates.make()
        let nginx = try await Nginx.start([Nginx.Site(certificate: "good")], certificates: certificates)
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        let call = try request(.get, "https://localhost:\(nginx.ports[0])/")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    for _ in 0..<20 { #expect(await client.failure(of: call) == nil) }
                }
            }
        }
        #expect(await eventually { nginx.log.count == 1000 })
        #expect(nginx.log.allSatisfy { $0.version == "HTTP/2.0" })
        #expect(Set(nginx.log.map(\.connection)).count == 1)
    }

    @Test("callers of a server without HTTP/2 have a connection each")
    func withoutMultiplexing() async throws {
        let certificates = try await Certificates.make()
        let nginx = try await Nginx.start(
            [Nginx.Site(certificate: "good", hasHTTP2: false)],
            certificates: certificates
        )
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        let call = try request(.get, "https://localhost:\(nginx.ports[0])/")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    for _ in 0..<20 { #expect(await client.failure(of: call) == nil) }
                }
            }
        }
        #expect(await eventually { nginx.log.count == 1000 })
        #expect(nginx.log.allSatisfy { $0.version == "HTTP/1.1" })
        #expect((2...50).contains(Set(nginx.log.map(\.connection)).count))
    }

    @Test("a burst of calls stays within the connections allowed for the host")
    func burst() async throws {
        let certificates = try await Certificates.make()
        let nginx = try await Nginx.start([Nginx.Site(certificate: "good")], certificates: certificates)
        let configuration = CurlConfiguration(maxConnectionsPerHost: 16, caFile: certificates.authority)
        let client = try CurlClient(configuration: configuration)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<1000 {
                let call = try request(
                    number.isMultiple(of: 2) ? .get : .post,
                    "https://localhost:\(nginx.ports[0])/\(number)",
                    body: number.isMultiple(of: 2) ? nil : Array("body \(number)".utf8)
                )
                group.addTask { try await client.send(call).status }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == [Int](repeating: 200, count: 1000))
        #expect(await eventually { nginx.log.count == 1000 })
        #expect(nginx.log.allSatisfy { $0.version == "HTTP/2.0" })
        #expect(Set(nginx.log.map(\.target)).count == 1000)
        #expect(Set(nginx.log.map(\.connection)).count <= 16)
    }

    @Test("a call that asks for its own connection gets it over TLS, too")
    func ownConnection() async throws {
        let certificates = try await Certificates.make()
        let nginx = try await Nginx.start([Nginx.Site(certificate: "good")], certificates: certificates)
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        for reuses in [true, true, false, false] {
            let url = "https://localhost:\(nginx.ports[0])/"
            _ = try await client.send(request(.post, url, body: [1], reusesConnection: reuses))
        }
        #expect(await eventually { nginx.log.count == 4 })
        let connections = nginx.log.map(\.connection)
        #expect(connections[0] == connections[1])
        #expect(Set(connections).count == 3)
    }
}

/// Bytes that the threads of a server have received.
///
/// `@unchecked Sendable`: the lock guards the bytes.
final class Received: @unchecked Sendable {
    private let lock = NSLock()
    private var gathered: [UInt8] = []

    var bytes: [UInt8] { lock.withLock { gathered } }

    func append(_ piece: [UInt8]) {
        lock.withLock { gathered += piece }
    }
}
