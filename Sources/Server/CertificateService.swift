import Applications
import Glibc
import HTTP
import Logging
import ServiceLifecycle
import UnixSignals

/// Keeps the certificates of the listeners current: looks at their files every other second and on SIGHUP, and says in
/// the log and in readiness what is wrong with them.
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

/// What has been said of the certificates, so that it can be taken back.
private actor CertificateWatch {
    private let certificates: [(listener: String, certificate: ListenerCertificate)]
    private let warnings: Warnings
    private let logger: Logger
    private var raised: Set<String> = []
    /// What is wrong with the files of a listener whose former certificate goes on.
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
