/// The TLS settings of a connection to the server.
struct TransportSecurity: Sendable, Hashable {
    /// The value for libpq's `sslmode`.
    let mode: String
    /// The path of a file with the certificate authorities that may sign the server's certificate; nil if the
    /// certificate is not verified.
    let rootCertificates: String?
    let certificate: String?
    let key: String?

    /// Debian's bundle of the well-known certificate authorities.
    ///
    /// libpq's own default is a file in the home folder, which a service rarely has.
    static let systemCertificates = "/etc/ssl/certs/ca-certificates.crt"

    private static let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

    init(_ url: ConnectionURL) throws(PostgresConfigurationError) {
        let asked = url.parameters["sslmode"]
        if let asked, !Self.modes.contains(asked) {
            throw .invalid("sslmode", expected: Self.modes.joined(separator: ", "))
        }
        if let remote = url.hosts.first(where: { !$0.staysHere }) {
            if let asked, asked != "verify-full" { throw .unverified(host: remote.name) }
            mode = "verify-full"
        } else {
            mode = asked ?? "disable"
        }
        // With a file of authorities, libpq treats `require` as `verify-ca`. So only the verifying modes get a file by
        // default.
        let roots = url.parameters["sslrootcert"] ?? (mode.hasPrefix("verify") ? "system" : nil)
        rootCertificates = roots == "system" ? Self.systemCertificates : roots
        certificate = url.parameters["sslcert"]
        key = url.parameters["sslkey"]
    }

    /// Whether the client may connect to an IP address.
    ///
    /// Any address is permitted if the client verifies the server's certificate. Otherwise only the loopback addresses
    /// of this machine are.
    func permits(address: String) -> Bool {
        mode == "verify-full" || DatabaseHost.isLoopback(address: address)
    }
}
