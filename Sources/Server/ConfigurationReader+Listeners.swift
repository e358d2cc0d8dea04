import Glibc
import HTTP

extension ConfigurationReader {
    /// The certificate of a listener.
    ///
    /// - Parameters:
    ///   - prefix: What the names of the variables begin with.
    ///   - certificate: Path of the certificate.
    ///   - key: Path of its key.
    ///   - clients: Path of the authorities that clients need a certificate of.
    /// - Returns: Nil where the listener speaks plain HTTP, and where something is wrong.
    mutating func certificate(
        _ prefix: String,
        in certificate: String?,
        key: String?,
        clients: String? = nil
    ) -> ListenerCertificate? {
        let (certificateName, keyName) = (prefix + ".certificate.file", prefix + ".key.file")
        let clientsName = prefix + ".client.ca.file"
        guard let certificate, let key else {
            for (name, value, missing) in [(certificateName, certificate, keyName), (keyName, key, certificateName)]
            where value != nil {
                problem(name, "is set, and \(Self.variable(missing)) is not; TLS needs both")
            }
            if certificate == nil, key == nil, clients != nil {
                problem(clientsName, "is set, and the listener has no TLS; set \(Self.variable(certificateName)), too")
            }
            return nil
        }
        let files = ListenerCertificate.Files(certificate: certificate, key: key, clientAuthorities: clients)
        do { return try ListenerCertificate(files) } catch {
            switch error.file {
            case .certificate: problem(certificateName, "is of no use: \(error)")
            case .key: problem(keyName, "is of no use: \(error)")
            case .clientAuthorities: problem(clientsName, "is of no use: \(error)")
            }
            return nil
        }
    }

    /// Who may connect to Unix sockets.
    ///
    /// - Parameters:
    ///   - mode: Three octal digits.
    ///   - group: A name or a number.
    /// - Returns: Nobody's when something is wrong.
    mutating func socketAccess(mode: String, group: String?) -> UnixSocket.Access {
        let bits = UInt32(mode, radix: 8)
        if bits.map({ $0 > 0o777 }) ?? true { problem("socket.mode", "must be three octal digits, like 660") }
        let id = group.flatMap { UInt32($0) ?? getgrnam($0)?.pointee.gr_gid }
        if group != nil, id == nil { problem("socket.group", "names a group that does not exist here") }
        return UnixSocket.Access(mode: bits ?? 0, group: id)
    }

    /// The proxies that are trusted to say where connections come from; nil where none has to.
    mutating func proxies(_ key: String, _ text: String?) -> TrustedPeers? {
        guard let text else { return nil }
        let peers = TrustedPeers(text)
        if peers == nil {
            problem(key, "must be addresses, networks or unix with commas between them, like 10.0.0.0/8, ::1, unix")
        }
        return peers
    }
}
