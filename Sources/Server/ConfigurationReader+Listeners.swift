import HTTP
import Providers

extension ConfigurationReader {
    /// Reads the TLS certificate of a listener.
    ///
    /// - Parameters:
    ///   - certificate: The variable with the path of the certificate.
    ///   - key: The variable with the path of the private key.
    ///   - clients: The variable with the path of CA certificates. If the variable is set, clients must have a
    ///     certificate of one of these CAs.
    /// - Returns: The certificate. Nil if the listener speaks plain HTTP, or after a problem, which the reader records.
    mutating func certificate(
        in certificate: Variable<String?>,
        key: Variable<String?>,
        clients: Variable<String?>? = nil
    ) -> ListenerCertificate? {
        let authorities = clients.flatMap { value($0) }
        guard let certificatePath = value(certificate), let keyPath = value(key) else {
            for (given, missing) in [(certificate, key), (key, certificate)] where isSet(given) {
                problem(given, "is set, and \(missing.name) is not; set both for TLS")
            }
            if let clients, authorities != nil, !isSet(certificate), !isSet(key) {
                problem(clients, "is set, and the listener has no TLS; set \(certificate.name) too")
            }
            return nil
        }
        let files = ListenerCertificate.Files(
            certificate: certificatePath,
            key: keyPath,
            clientAuthorities: authorities
        )
        do { return try ListenerCertificate(files) } catch {
            switch error.file {
            case .certificate: problem(certificate, "cannot be used: \(error)")
            case .key: problem(key, "cannot be used: \(error)")
            case .clientAuthorities: problem(clients ?? certificate, "cannot be used: \(error)")
            }
            return nil
        }
    }
}
