import AdministrationAPI
import Applications
import Curl
import Domain
import Encodings
import Glibc
import HTTP
import Logging
import Postgres
import Providers
import Secrets

/// The configuration variables for the database, the master keys and the number of trusted proxies.
enum NeededVariables {
    static let databaseURL = Variable<PostgresConfiguration?>(
        "database.url",
        "URL",
        isSecret: true,
        "The PostgreSQL database. See [The database URL](#the-database-url)."
    ) { text throws(WrongValue) in
        do { return try PostgresConfiguration(url: text) } catch { throw WrongValue("\(error)") }
    }
    static let masterKey = Variable.masterKey(
        "master.key",
        """
        The key that encrypts all secrets: 32 bytes in base64. Create one with `openssl rand -base64 32`. [A database \
        accepts only its own key](operations/rotate.md#the-master-key).
        """
    )
    static let masterKeyFile = Variable.masterKeyFile(
        "master.key.file",
        "A file with the master key. Set either this or `FEDERATION_MASTER_KEY`."
    )
    static let previousMasterKey = Variable.masterKey(
        "master.key.previous",
        "The former master key, which still decrypts secrets [during a rotation](operations/rotate.md#the-master-key)."
    )
    static let previousMasterKeyFile = Variable.masterKeyFile(
        "master.key.previous.file",
        "A file with the former master key."
    )
    static let trustedProxies = Variable.integer("trusted.proxies", in: 0...16, "proxies", standard: 0) {
        """
        How many proxies in front of the public listener add the source of a request to `X-Forwarded-For`: \($0). See \
        [behind a proxy](operations/install.md#behind-a-proxy). Required in production, even if it is 0; the default \
        is for development only.
        """
    }

    static let all: [any DeclaredVariable] = [
        databaseURL, masterKey, masterKeyFile, previousMasterKey, previousMasterKeyFile, trustedProxies,
    ]
}

/// The configuration variables for listeners and logging.
enum ListeningVariables {
    static let listen = Variable.address(
        "listen",
        standard: .network(host: "127.0.0.1", port: 8080),
        """
        The address of the public listener. Write IPv6 addresses in brackets, and a [Unix \
        socket](operations/install.md#unix-sockets) as `unix:/run/federation/public.sock`.
        """
    )
    static let managementListen = Variable.address(
        "management.listen",
        standard: .network(host: "127.0.0.1", port: 8081),
        """
        The address of the management listener. Access from other machines without TLS gives a \
        [warning](operations/incident.md#health).
        """
    )
    static let socketMode = Variable<UInt32>(
        "socket.mode",
        "octal",
        standard: 0o660,
        text: "660",
        "The file mode of Unix sockets. A process needs the write permission to connect."
    ) { text throws(WrongValue) in
        guard let bits = UInt32(text, radix: 8), bits <= 0o777 else {
            throw WrongValue("must be three octal digits, like 660")
        }
        return bits
    }
    static let socketGroup = Variable<UInt32?>(
        "socket.group",
        "name",
        "The group of Unix sockets, by name or number. The process must be a member of it."
    ) { text throws(WrongValue) in
        guard let id = UInt32(text) ?? getgrnam(text)?.pointee.gr_gid else {
            throw WrongValue("names a group that does not exist here")
        }
        return id
    }
    static let proxies = Variable.peers(
        "proxy.protocol.from",
        """
        The proxies that send the [PROXY protocol](operations/install.md#the-proxy-protocol) to the public listener: \
        addresses, networks and `unix`, like `10.0.0.0/8, 192.0.2.7, unix`. Other connections are then refused, and \
        `FEDERATION_TRUSTED_PROXIES` must be 0.
        """
    )
    static let managementProxies = Variable.peers(
        "management.proxy.protocol.from",
        "The same for the management listener."
    )
    static let publicURL = Variable<String?>(
        "public.url",
        "URL",
        """
        The public address of the service, like `https://users.example.com`. Links in mails and responses begin with \
        it, whatever a request says. Required for logins through the server and the data deletion callback.
        """
    ) { text throws(WrongValue) in
        _ = try HTTPURL(ofVariable: text)
        var url = text[...]
        while url.utf8.last == UInt8(ascii: "/") { url.removeLast() }
        guard !url.utf8.contains(where: { $0.isOne(of: "?#@") }) else {
            throw WrongValue("must be a URL without query, fragment or user name, like https://users.example.com")
        }
        return String(url)
    }
    static let operatorOrigin = Variable<String?>(
        "operator.origin",
        "URL",
        """
        The origin at which [operators](administration.md#second-factors-of-operators) use passkeys, like \
        `https://admin.example.com`. Its host name is the RP ID. The default is `FEDERATION_PUBLIC_URL`.
        """
    ) { text throws(WrongValue) in
        _ = try HTTPURL(ofVariable: text)
        guard PublicAddress(url: text).origin == text else {
            throw WrongValue("must be scheme, host and port alone, like https://admin.example.com")
        }
        return text
    }
    static let loginLogDays = Variable.integer("login.log.days", in: 0...3650, "days", standard: 30) {
        """
        Days to keep the [login log](administration.md#the-log-of-logins): \($0). With 0, no log is written and the \
        existing log is deleted. Set the same value on all instances.
        """
    }
    static let maintenanceEnabled = Variable.flag(
        "maintenance.enabled",
        standard: true,
        """
        Whether this instance does [background work](operations/capacity.md#work-in-the-background). At least one \
        instance should.
        """
    )
    static let logLevel = Variable.word(
        "log.level",
        standard: Logger.Level.info,
        """
        \(Variable<Logger.Level>.words). You can [change it for a while](administration.md#the-level-of-the-log) \
        without a restart.
        """
    )
    static let metricsAccess = Variable.word(
        "metrics.access",
        standard: MetricsPage.Access.open,
        """
        Who may read [`GET /metrics`](metrics.md). `open`: every client of the management listener. `operator`: \
        clients with an operator's token.
        """
    )
    static let otlpEndpoint = Variable<HTTPURL?>(
        "otlp.endpoint",
        "URL",
        """
        The OTLP/HTTP receiver for [traces](operations/incident.md#traces), like `http://127.0.0.1:4318`; `/v1/traces` \
        is appended. On another machine it must be `https`.
        """
    ) { text throws(WrongValue) in
        var base = text[...]
        while base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        return try HTTPURL(ofVariable: base + "/v1/traces")
    }
    static let tracesPercent = Variable.integer("traces.percent", in: 0...100, "percent", standard: 100) {
        """
        Percentage of traces that are exported: \($0). It applies to traces that begin here and to those that clients \
        sample.
        """
    }
    static let mode = Variable.word(
        "mode",
        standard: ServerConfiguration.Mode.production,
        """
        \(Variable<ServerConfiguration.Mode>.words). It appears in the log, and decides where [mails](#mail) go without \
        a mail server and whether `FEDERATION_TRUSTED_PROXIES` is required.
        """
    )
    static let configFile = Variable.text(
        "config.file",
        "path",
        "A JSON file with further values. See [The file](#the-file)."
    )

    static let all: [any DeclaredVariable] = [
        listen, managementListen, socketMode, socketGroup, proxies, managementProxies, publicURL, operatorOrigin,
        loginLogDays, maintenanceEnabled, logLevel, metricsAccess, otlpEndpoint, tracesPercent, mode, configFile,
    ]
}

/// The configuration variables for the listeners' TLS.
enum TLSVariables {
    static let certificate = Variable.text(
        "tls.certificate.file",
        "path",
        "The certificate of the public listener, followed by its intermediate certificates."
    )
    static let key = Variable.text(
        "tls.key.file",
        "path",
        "The private key of this certificate, without a passphrase. Set both or neither."
    )
    static let strictTransport = Variable.integer("tls.hsts.seconds", in: 0...63_072_000, "s", standard: 31_536_000) {
        "`max-age` of `Strict-Transport-Security` on the public listener with TLS: \($0). 0 makes browsers forget it."
    }
    static let managementCertificate = Variable.text(
        "management.tls.certificate.file",
        "path",
        "The certificate of the management listener, followed by its intermediate certificates."
    )
    static let managementKey = Variable.text(
        "management.tls.key.file",
        "path",
        "The private key of this certificate, without a passphrase."
    )
    static let managementClients = Variable.text(
        "management.tls.client.ca.file",
        "path",
        """
        The CA certificates for client certificates. If set, every client of the management listener needs a \
        certificate, also for health checks.
        """
    )

    static let all: [any DeclaredVariable] = [
        certificate, key, strictTransport, managementCertificate, managementKey, managementClients,
    ]
}

/// The configuration variables that all provider kinds share.
enum ProviderVariables {
    static let authorities = Variable.text(
        "ca.file",
        "path",
        "PEM file of the CA certificates to trust for all providers, in place of those of the system."
    )

    static let all: [any DeclaredVariable] =
        ProviderKinds.variables.filter { !($0 is Variable<Duration>) } + [authorities]
}
