import Applications
import Glibc
import HTTP
import Logging
import ServiceLifecycle
import UnixSignals

/// Keeps the listeners' certificates current.
///
/// It checks their files every two seconds and on SIGHUP, and reports problems in the log and in readiness.
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
                group.addTask { for await _ in signals { await watch.look(always: true) } }
                while !Task.isCancelled {
                    await watch.look()
                    try? await Task.sleep(for: Self.interval)
                }
            }
        }
    }
}

/// The warnings raised about the certificates, so that they can be withdrawn.
private actor CertificateWatch {
    private let certificates: [(listener: String, certificate: ListenerCertificate)]
    private let warnings: Warnings
    private let logger: Logger
    private var raised: Set<String> = []
    /// The problem with the files of a listener that keeps its former certificate.
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

    func look(always: Bool = false) {
        var texts: [String] = []
        for (listener, certificate) in certificates {
            switch certificate.look(always: always) {
            case .unchanged: break
            case .renewed:
                kept[listener] = nil
                logger.info("certificate read", metadata: ["listener": "\(listener)"])
            case .kept(let problem):
                kept[listener] =
                    "The \(listener) listener goes on with its former certificate, since \(problem)."
                    + " Put a certificate and the key that fits it in place."
            }
            texts += certificate.warnings(now: time(nil))
            if let text = kept[listener] { texts.append(text) }
        }
        for text in texts { warnings.raise(text, stands: true) }
        for text in raised.subtracting(texts) { warnings.withdraw(text) }
        raised = Set(texts)
    }
}
