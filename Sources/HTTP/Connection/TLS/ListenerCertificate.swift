import FoundationEssentials
import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The certificate and key of a listener, and the authorities of client certificates; all are read from files.
///
/// The files may be replaced at any time. Open connections keep the certificate and key with which they began. New
/// connections use the files that were read last. If a new file is unusable, or the new files do not match each other,
/// the former certificate and key stay in use.
package final class ListenerCertificate: Sendable {
    /// The paths of the PEM files.
    package struct Files: Sendable {
        /// The path of the file with the listener's certificate, followed by the other certificates of its chain.
        var certificate: String
        var key: String
        /// The path of the file with the authorities of client certificates; nil when clients need no certificate.
        ///
        /// One of these authorities must have issued the certificate of a client.
        var clientAuthorities: String?

        package init(certificate: String, key: String, clientAuthorities: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.clientAuthorities = clientAuthorities
        }
    }

    /// A defect of one of the files.
    package struct Problem: Error, CustomStringConvertible {
        package enum File: Sendable {
            case certificate, key, clientAuthorities
        }

        package let file: File
        /// The defect and its remedy, with the path.
        package let description: String
    }

    /// The outcome of a check of the files.
    package enum Reload {
        case unchanged
        case renewed
        case kept(Problem)
    }

    private struct Material {
        let context: NIOSSLContext
        /// The certificate's expiry, in seconds since 1970.
        let end: Int
    }

    /// The contents of the files; empty for an absent or unreadable file.
    private struct Contents: Equatable {
        var certificate: [UInt8]
        var key: [UInt8]
        var clientAuthorities: [UInt8]

        init(of files: Files) {
            certificate = Self.bytes(of: files.certificate)
            key = Self.bytes(of: files.key)
            clientAuthorities = files.clientAuthorities.map { Self.bytes(of: $0) } ?? []
        }

        private static func bytes(of path: String) -> [UInt8] {
            guard let stream = fopen(path, "re") else { return [] }
            defer { fclose(stream) }
            var bytes = [UInt8](repeating: 0, count: maxBytes)
            let count = fread(&bytes, 1, bytes.count, stream)
            return Array(bytes.prefix(count))
        }
    }

    private struct State {
        var material: Material
        /// The contents of the files at the latest check, whether they were usable or not.
        var contents: Contents
    }

    /// How long before its expiry a certificate causes a warning.
    package static let notice = Duration.seconds(14 * 86_400)

    /// Files of this size or more, in bytes, are refused; no certificate chain is that long.
    private static let maxBytes = 1 << 20

    private let files: Files
    private let state: NIOLockedValueBox<State>

    package init(_ files: Files) throws(Problem) {
        self.files = files
        let contents = Contents(of: files)
        state = NIOLockedValueBox(State(material: try Self.material(of: contents, files), contents: contents))
    }

    /// The TLS context for new connections.
    var context: NIOSSLContext { state.withLockedValue { $0.material.context } }

    /// Reads the files again, and uses them for new connections if they have changed and are usable.
    ///
    /// - Parameter always: Whether to use the files even if they have not changed.
    /// - Returns: Whether the certificate was replaced, or why the former one stays in use.
    package func reload(always: Bool = false) -> Reload {
        let contents = Contents(of: files)
        guard always || state.withLockedValue({ $0.contents != contents }) else { return .unchanged }
        do {
            let material = try Self.material(of: contents, files)
            state.withLockedValue { $0 = State(material: material, contents: contents) }
            return .renewed
        } catch {
            state.withLockedValue { $0.contents = contents }
            return .kept(error)
        }
    }

    /// Returns warnings for operators about the certificate's expiry and the permissions of the key's file.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Returns: The warnings; they name the files by their paths.
    package func warnings(now: Int) -> [String] {
        let material = state.withLockedValue { $0.material }
        var warnings: [String] = []
        if material.end <= now {
            warnings.append(
                "The certificate in \(files.certificate) expired on \(Self.day(material.end)), "
                    + "and clients refuse it: renew it."
            )
        } else if material.end - now < Int(Self.notice.components.seconds) {
            warnings.append("The certificate in \(files.certificate) expires on \(Self.day(material.end)): renew it.")
        }
        if Self.isOpen(files.key) {
            warnings.append(
                "All users of this machine can read the key in \(files.key): "
                    + "set its mode to 0640 or less, and consider a new key."
            )
        }
        return warnings
    }

    // MARK: Reading

    private static func material(of contents: Contents, _ files: Files) throws(Problem) -> Material {
        let chain = try certificates(in: contents.certificate, files.certificate, .certificate)
        try check(contents.key, files.key, .key)
        guard let key = try? NIOSSLPrivateKey(bytes: contents.key, format: .pem) else {
            throw Problem(file: .key, description: "\(files.key) contains no PEM private key without a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // Of TLS 1.2 the suites with forward secrecy and authenticated encryption; TLS 1.3 has no others.
        configuration.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
        configuration.applicationProtocols = ["h2", "http/1.1"]
        // The limit of the wait for the client's closure alert. Meanwhile received bytes are read and dropped.
        configuration.shutdownTimeout = .seconds(1)
        if let path = files.clientAuthorities {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(
                try certificates(in: contents.clientAuthorities, path, .clientAuthorities)
            )
            configuration.sendCANameList = true
        }
        let context: NIOSSLContext
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw Problem(
                file: .key,
                description: "\(files.key) does not match the first certificate in \(files.certificate)"
            )
        }
        return Material(context: context, end: chain.first?.notValidAfter ?? 0)
    }

    private static func certificates(
        in bytes: [UInt8],
        _ path: String,
        _ file: Problem.File
    ) throws(Problem) -> [NIOSSLCertificate] {
        try check(bytes, path, file)
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
            throw Problem(file: file, description: "\(path) contains no PEM certificate")
        }
        return certificates
    }

    private static func check(_ bytes: [UInt8], _ path: String, _ file: Problem.File) throws(Problem) {
        guard !bytes.isEmpty else {
            throw Problem(file: file, description: "\(path) is missing, empty or not readable for this process")
        }
        guard bytes.count < maxBytes else {
            throw Problem(file: file, description: "\(path) has more than \(maxBytes) bytes")
        }
    }

    /// Returns whether users other than the file's owner and group may read the file.
    private static func isOpen(_ path: String) -> Bool {
        let path = URL(filePath: path).resolvingSymlinksInPath().path
        let facts = try? FileManager.default.attributesOfItem(atPath: path)
        // The value is a UInt if only a part of Foundation is linked. Otherwise it is an NSNumber, which can be cast to
        // UInt.
        return (facts?[.posixPermissions] as? UInt).map { $0 & 0o004 != 0 } ?? false
    }

    private static func day(_ time: Int) -> String {
        var (seconds, parts) = (time, tm())
        gmtime_r(&seconds, &parts)
        let number = { (value: Int32) in value < 10 ? "0\(value)" : "\(value)" }
        return "\(Int(parts.tm_year) + 1900)-\(number(parts.tm_mon + 1))-\(number(parts.tm_mday))"
    }
}
