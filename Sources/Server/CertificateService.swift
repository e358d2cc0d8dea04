import Applications
import Glibc
import HTTP
import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the listeners' TLS certificates when their files change.
///
/// The service checks the files every two seconds and on SIGHUP. It reports problems in the log and in the readiness
/// check.
struct CertificateService: Service {
    let certificates: [(listener: String, certificate: ListenerCertificate)]
    let warnings: Warnings
    let logger: Logger

    private static let interval = Duration.seconds(2)

    func run() async throws {
        let watch = CertificateWatch(certificates: certificates, warnings: warnings, logger: logger)
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await _ in signals { await watch.reload(always: true) } }
                while !Task.isCancelled {
                    await watch.reload()
                    try? await Task.sleep(for: Self.interval)
                }
            }
        }
    }
}

/// Raises warnings about problems with the listeners' TLS certificates, and withdraws those that no longer apply.
private actor CertificateWatch {
    private let certificates: [(listener: String, certificate: ListenerCertificate)]
    private let warnings: Warnings
    private let logger: Logger
    private var raised: Set<String> = []
    /// The warnings about listeners that keep their former certificate; the keys are the names of these listeners.
    ///
    /// A listener keeps its certificate if it cannot use the new certificate files.
    private var kept: [String: String] = [:]

    init(
        certificates: [(listener: String, certificate: ListenerCertificate)],
        warnings: Warnings,
        logger: Logger
    ) {
        self.certificates = certificates
        self.warnings = warnings
        self.logger = logger
    }

    func reload(always: Bool = false) {
        var texts: [String] = []
        for (listener, certificate) in certificates {
            switch certificate.reload(always: always) {
            case .unchanged: break
            case .renewed:
                kept[listener] = nil
                logger.info("certificate read", metadata: ["listener": "\(listener)"])
            case .kept(let problem):
                kept[listener] =
                    "The \(listener) listener still uses its former certificate, because \(problem)."
                    + " Install a certificate and its matching key."
            }
            texts += certificate.warnings(now: time(nil))
            if let text = kept[listener] { texts.append(text) }
        }
        for text in texts { warnings.raise(text, stands: true) }
        for text in raised.subtracting(texts) { warnings.withdraw(text) }
        raised = Set(texts)
    }
}
