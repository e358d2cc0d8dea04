import Foundation

/// Certificates that `openssl` makes for one test: an authority, and servers with every kind of fault.
final class Certificates: Sendable {
    private let directory: URL

    /// The path of the authority's certificate, which a client has to trust.
    var authority: String { path("authority") + ".pem" }

    /// Returns the path of the named pair, without the extension `.pem` or `.key`.
    func path(_ name: String) -> String { directory.path + "/" + name }

    static func make() async throws -> Certificates {
        try await onThread { try Certificates() }
    }

    private init() throws {
        directory = try temporaryDirectory()
        try selfSigned("authority", "CN=Test Authority", extensions: ["basicConstraints=critical,CA:TRUE"])
        try selfSigned("self-signed", "CN=localhost", extensions: ["subjectAltName=DNS:localhost,IP:127.0.0.1"])
        try selfSigned("stranger", "CN=Another Authority", extensions: ["basicConstraints=critical,CA:TRUE"])
        try issue("good", by: "authority", names: "DNS:localhost,DNS:graph.test,IP:127.0.0.1", days: 2)
        try issue("expired", by: "authority", names: "DNS:localhost,IP:127.0.0.1", days: -1)
        try issue("wrong-host", by: "authority", names: "DNS:other.example", days: 2)
        try issue("unknown-issuer", by: "stranger", names: "DNS:localhost,IP:127.0.0.1", days: 2)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func selfSigned(_ name: String, _ subject: String, extensions: [String]) throws {
        try openssl(
            [
                "req", "-x509", "-days", "2", "-subj", "/" + subject, "-keyout", "\(path(name)).key", "-out",
                "\(path(name)).pem",
            ]
                + Self.key + extensions.flatMap { ["-addext", $0] }
        )
    }

    private func issue(_ name: String, by issuer: String, names: String, days: Int) throws {
        try openssl(
            ["req", "-new", "-subj", "/CN=\(name)", "-keyout", "\(path(name)).key", "-out", "\(path(name)).csr"]
                + Self.key
        )
        try "subjectAltName=\(names)\n".write(toFile: "\(path(name)).ext", atomically: true, encoding: .utf8)
        try openssl([
            "x509", "-req", "-in", "\(path(name)).csr", "-CA", "\(path(issuer)).pem", "-CAkey", "\(path(issuer)).key",
            "-CAcreateserial", "-days", "\(days)", "-extfile", "\(path(name)).ext", "-out", "\(path(name)).pem",
        ])
    }

    private func openssl(_ arguments: [String]) throws {
        let result = try Program.run("openssl", arguments)
        guard result.status == 0 else {
            throw Program.Failure(description: String(decoding: result.output, as: UTF8.self))
        }
    }
}
