import Foundation
import Testing
import TestSupport

/// A folder of certificates and keys in PEM form, made with `openssl` for one test: `NAME.pem` and `NAME.key`.
struct CertificateFolder: Sendable {
    let path: String

    /// Makes a folder with an authority called `authority` and another called `stranger`.
    static func make() async throws -> CertificateFolder {
        let folder = CertificateFolder(path: FileManager.default.temporaryDirectory.path + "/federation-tls-\(UUID())")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        for name in ["authority", "stranger"] {
            try await openssl(
                [
                    "req", "-x509", "-days", "30", "-subj", "/CN=\(name)", "-keyout", folder.key(name), "-out",
                    folder.certificate(name), "-addext", "basicConstraints=critical,CA:TRUE",
                ] + newKey
            )
        }
        return folder
    }

    func certificate(_ name: String) -> String { "\(path)/\(name).pem" }
    func key(_ name: String) -> String { "\(path)/\(name).key" }

    /// Makes a certificate for 127.0.0.1 and localhost.
    ///
    /// - Parameters:
    ///   - name: The name of the files.
    ///   - authority: The name of the signing authority.
    ///   - days: The validity in days.
    ///   - sameKey: Whether the certificate is for the existing key.
    /// - Throws: An error when openssl fails.
    func issue(_ name: String, by authority: String = "authority", days: Int = 30, sameKey: Bool = false) async throws {
        let keyOptions = sameKey ? ["-key", key(name)] : ["-keyout", key(name)] + Self.newKey
        try await Self.openssl(["req", "-new", "-subj", "/CN=\(name)", "-out", "\(path)/\(name).csr"] + keyOptions)
        try Data("subjectAltName=DNS:localhost,IP:127.0.0.1\n".utf8).write(to: URL(filePath: "\(path)/names"))
        try await Self.openssl([
            "x509", "-req", "-in", "\(path)/\(name).csr", "-CA", certificate(authority), "-CAkey", key(authority),
            "-CAcreateserial", "-days", "\(days)", "-extfile", "\(path)/names", "-out", certificate(name),
        ])
        try chmod(key(name), to: 0o600)
    }

    /// Replaces the files of one name by those of another, each atomically.
    func put(_ name: String, over target: String, certificate: Bool = true, key: Bool = true) throws {
        let pairs =
            (certificate ? [(self.certificate(name), self.certificate(target))] : [])
            + (key ? [(self.key(name), self.key(target))] : [])
        for (from, to) in pairs {
            let new = to + ".new"
            try? FileManager.default.removeItem(atPath: new)
            try FileManager.default.copyItem(atPath: from, toPath: new)
            try #require(rename(new, to) == 0)
        }
    }

    func chmod(_ path: String, to mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// Returns the `pin-sha256` of a key: the hash of its public half (RFC 7469 §2.4).
    func pin(_ name: String) async throws -> String {
        let ended = try await run(
            "bash",
            [
                "-euo", "pipefail", "-c",
                #"openssl pkey -in "$0" -pubout -outform der | openssl dgst -sha256 -binary | base64"#, key(name),
            ]
        )
        return "sha256//" + ended.standardOutput.filter { !$0.isNewline }
    }

    func remove() throws { try FileManager.default.removeItem(atPath: path) }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private static func openssl(_ arguments: [String]) async throws {
        let ended = try await run("openssl", arguments)
        try #require(ended.exitStatus == .exited(0), "\(ended.standardError)")
    }
}
