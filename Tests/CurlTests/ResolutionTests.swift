import Curl
import Foundation
import Glibc
import Testing

@Suite("Name resolution")
struct ResolutionTests {
    @Test("localhost is this machine without asking a resolver")
    func localhost() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reply()
        }
        let client = try CurlClient()
        #expect(try await client.send(request(.get, "http://localhost:\(server.port)/")).status == 200)
    }

    @Test(
        "F-09: a resolver that fails, hangs and changes its mind, beside a proxy that nobody asked for",
        .enabled(if: Namespace.isAvailable)
    )
    func inNamespace() async throws {
        let result = try await onThread { try Namespace.runSuite("ResolutionInNamespaceTests") }
        #expect(result.status == 0, "\(String(decoding: result.output, as: UTF8.self))")
        #expect(String(decoding: result.output, as: UTF8.self).contains("with 4 tests"))
    }
}

@Suite("Name resolution, within the namespace", .enabled(if: Namespace.isInside), .serialized)
struct ResolutionInNamespaceTests {
    private static let server = Result { try NameServer() }

    @Test("F-09: NXDOMAIN and SERVFAIL", arguments: [UInt8(3), 2])
    func failures(_ code: UInt8) async throws {
        try Self.server.get().answer("failing.test", .failure(code))
        let client = try CurlClient()
        #expect(await client.failure(of: try request(.get, "https://failing.test/")) == .resolve)
    }

    @Test("F-09: a silent resolver costs the caller its connect limit and the other callers nothing")
    func silence() async throws {
        try Self.server.get().answer("silent.test", .silence)
        let answering = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        let client = try CurlClient()
        let other = try request(.get, answering.url())
        let patient = try request(
            .get,
            "https://silent.test/",
            timeout: .seconds(60),
            connectTimeout: .seconds(60)
        )
        let questions = try Self.server.get().questions(for: "silent.test")
        await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<10 { group.addTask { await client.failure(of: patient) } }
            #expect(await eventually { (try? Self.server.get().questions(for: "silent.test")) ?? 0 > questions })
            for _ in 0..<10 { #expect(await client.failure(of: other) == nil) }
            group.cancelAll()
            // All calls have waited until now.
            for await error in group { #expect(error == .cancelled) }
        }
        #expect(await client.failure(of: other) == nil)

        // Without a limit for the name lookup the call would take twenty seconds.
        let silent = try request(.get, "https://silent.test/", connectTimeout: .milliseconds(300))
        let start = ContinuousClock.now
        await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<10 { group.addTask { await client.failure(of: silent) } }
            for await error in group { #expect(error == .timeout(.connecting)) }
        }
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test("F-09: an address that changes is followed in the time configured")
    func change() async throws {
        let names = try Self.server.get()
        let certificates = try await Certificates.make()
        let port = try ScriptedServer.freePort()
        let sites = ["127.0.0.2", "127.0.0.3"].map { Nginx.Site(certificate: "good", address: $0, port: port) }
        let nginx = try await Nginx.start(sites, certificates: certificates)
        let configuration = CurlConfiguration(caFile: certificates.authority, addressSeconds: 4)
        let client = try CurlClient(configuration: configuration)
        let call = try request(.get, "https://graph.test:\(port)/")

        names.answer("graph.test", .address("127.0.0.2"))
        let before = names.questions(for: "graph.test")
        for _ in 0..<20 { #expect(await client.failure(of: call) == nil) }
        #expect(names.questions(for: "graph.test") == before + 1)
        #expect(await eventually { nginx.log.count == 20 })
        #expect(nginx.log.allSatisfy { $0.address == "127.0.0.2" })

        names.answer("graph.test", .address("127.0.0.3"))
        let start = ContinuousClock.now
        let isFollowed = await eventually {
            _ = await client.failure(of: call)
            return nginx.log.last?.address == "127.0.0.3"
        }
        #expect(isFollowed)
        // libcurl's own default keeps an address for a minute.
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test("a name that leads to this machine does not make plain http to it good")
    func plainToName() throws {
        try Self.server.get().answer("graph.test", .address("127.0.0.1"))
        #expect(throws: CurlError.invalidRequest(.plainHTTPBeyondLoopback)) { try HTTPURL("http://graph.test/") }
    }
}

/// A network namespace for this test program, in which `/etc/resolv.conf` names the loopback address.
enum Namespace {
    private static let mark = "CURL_TESTS_IN_NAMESPACE"

    static var isInside: Bool { ProcessInfo.processInfo.environment[mark] != nil }

    /// Whether this system allows a new namespace; containers often do not.
    static let isAvailable = !isInside && (try? run("true").status) == 0

    static func runSuite(_ name: String) throws -> (status: Int32, output: [UInt8]) {
        // A proxy of the environment must not be used; nothing listens at this one.
        let environment = "\(mark)=1 http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 ALL_PROXY=127.0.0.1:1"
        let program = "/proc/\(getpid())/exe --testing-library swift-testing --filter \(name)"
        return try run("\(environment) exec \(program)")
    }

    private static func run(_ command: String) throws -> (status: Int32, output: [UInt8]) {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "resolv.conf").path
        try "nameserver 127.0.0.1\n".write(toFile: file, atomically: true, encoding: .utf8)
        let privileges = geteuid() == 0 ? [] : ["--map-root-user"]
        let script = "ip link set lo up && mount --bind \(file) /etc/resolv.conf && \(command)"
        return try Program.run("unshare", privileges + ["--net", "--mount", "sh", "-c", script])
    }
}
