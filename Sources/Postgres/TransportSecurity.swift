/// How the connection to the server is protected.
struct TransportSecurity: Sendable, Hashable {
    /// `sslmode` as libpq knows it.
    let mode: String
    /// The authorities that may vouch for the server; nil if none has to.
    let rootCertificates: String?
    let certificate: String?
    let key: String?

    /// Debian's bundle of the well-known authorities.
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
        // libpq takes `require` with a file of authorities for `verify-ca`: so only those who verify get one unasked.
        let roots = url.parameters["sslrootcert"] ?? (mode.hasPrefix("verify") ? "system" : nil)
        rootCertificates = roots == "system" ? Self.systemCertificates : roots
        certificate = url.parameters["sslcert"]
        key = url.parameters["sslkey"]
    }

    /// Whether an address is of use at all: without a verified certificate only this machine is.
    func permits(address: String) -> Bool {
        mode == "verify-full" || DatabaseHost.isLoopback(address: address)
    }
}
