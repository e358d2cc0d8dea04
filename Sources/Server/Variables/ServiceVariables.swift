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

/// The variables that must be set.
enum NeededVariables {
    static let databaseURL = Variable<PostgresConfiguration?>(
        "database.url",
        "URL",
        isSecret: true,
        "where PostgreSQL is; see [The database URL](#the-database-url)"
    ) { text throws(WrongValue) in
        do { return try PostgresConfiguration(url: text) } catch { throw WrongValue("\(error)") }
    }
    static let masterKey = Variable.masterKey(
        "master.key",
        """
        32 bytes under which app secrets are stored; [the database takes no other \
        one](operations/rotate.md#the-master-key) than its own; make one with `openssl rand -base64 32`
        """
    )
    static let masterKeyFile = Variable.masterKeyFile(
        "master.key.file",
        "a file that holds the master key, in place of the variable; exactly one of the two must be set"
    )
    static let previousMasterKey = Variable.masterKey(
        "master.key.previous",
        """
        the former master key, which still opens secrets [while keys are rotated](operations/rotate.md#the-master-key)
        """
    )
    static let previousMasterKeyFile = Variable.masterKeyFile(
        "master.key.previous.file",
        "a file that holds the former master key, in place of the variable"
    )
    static let trustedProxies = Variable.integer("trusted.proxies", in: 0...16, "proxies", standard: 0) {
        """
        how many proxies in front add to `X-Forwarded-For` where a request came from, \($0); see [behind a \
        proxy](operations/install.md#behind-a-proxy). In production `serve` does not start before it is given, and 0 \
        counts as given; 0 is the default in development alone
        """
    }

    static let all: [any DeclaredVariable] = [
        databaseURL, masterKey, masterKeyFile, previousMasterKey, previousMasterKeyFile, trustedProxies,
    ]
}

/// The variables of listeners and logging.
enum ListeningVariables {
    static let listen = Variable.address(
        "listen",
        standard: .network(host: "127.0.0.1", port: 8080),
        """
        the public listener; IPv6 addresses stand in brackets, and `unix:/run/federation/public.sock` is a [Unix \
        socket](operations/install.md#unix-sockets)
        """
    )
    static let managementListen = Variable.address(
        "management.listen",
        standard: .network(host: "127.0.0.1", port: 8081),
        """
        the management listener, written alike; one that other machines reach without TLS is a \
        [warning](operations/incident.md#health)
        """
    )
    static let socketMode = Variable<UInt32>(
        "socket.mode",
        "octal",
        standard: 0o660,
        text: "660",
        "the mode of Unix sockets: who may write may connect"
    ) { text throws(WrongValue) in
        guard let bits = UInt32(text, radix: 8), bits <= 0o777 else {
            throw WrongValue("must be three octal digits, like 660")
        }
        return bits
    }
    static let socketGroup = Variable<UInt32?>(
        "socket.group",
        "name",
        "the group that Unix sockets get, by name or number; the process has to be a member of it"
    ) { text throws(WrongValue) in
        guard let id = UInt32(text) ?? getgrnam(text)?.pointee.gr_gid else {
            throw WrongValue("names a group that does not exist here")
        }
        return id
    }
    static let proxies = Variable.peers(
        "proxy.protocol.from",
        """
        the proxies that say by the [PROXY protocol](operations/install.md#the-proxy-protocol) where connections to \
        the public listener come from: addresses, networks and `unix`, like `10.0.0.0/8, 192.0.2.7, unix`. Others are \
        not served then, and `FEDERATION_TRUSTED_PROXIES` must be 0
        """
    )
    static let managementProxies = Variable.peers(
        "management.proxy.protocol.from",
        "the same for the management listener"
    )
    static let publicURL = Variable<String?>(
        "public.url",
        "URL",
        """
        where the public listener is reached from outside, like `https://users.example.com`: links that we give out \
        begin with it, and nothing that a request says changes them. Login through the server and the data deletion \
        callback need it
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
        where [operators](administration.md#second-factors-of-operators) make and show passkeys, like \
        `https://admin.example.com`; its host name is their RP id. Without it they do so at `FEDERATION_PUBLIC_URL`
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
        how long the [log of logins](administration.md#the-log-of-logins) is kept, \($0); with 0 none is written, and \
        what is there goes. Set the same on all instances: those that do work in the background remove what is older \
        by theirs
        """
    }
    static let upkeepEnabled = Variable.flag(
        "upkeep.enabled",
        standard: true,
        """
        whether this instance does [work in the background](operations/capacity.md#work-in-the-background); at least \
        one should
        """
    )
    static let logLevel = Variable.word(
        "log.level",
        standard: Logger.Level.info,
        """
        \(Variable<Logger.Level>.words); [another one for a while](administration.md#the-level-of-the-log) without a \
        restart
        """
    )
    static let metricsAccess = Variable.word(
        "metrics.access",
        standard: MetricsPage.Access.open,
        """
        who may read [`GET /metrics`](metrics.md): `open` is everybody who reaches the management listener, `operator` \
        is who has the token of an operator
        """
    )
    static let otlpEndpoint = Variable<HTTPURL?>(
        "otlp.endpoint",
        "URL",
        """
        the OTLP receiver of a collector that takes [traces](operations/incident.md#traces), like \
        `http://127.0.0.1:4318`; `/v1/traces` is put behind it. Beyond this machine it must be `https`
        """
    ) { text throws(WrongValue) in
        var base = text[...]
        while base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        return try HTTPURL(ofVariable: base + "/v1/traces")
    }
    static let tracesPercent = Variable.integer("traces.percent", in: 0...100, "percent", standard: 100) {
        """
        how many traces of a hundred are exported, \($0), of those that begin here and of those that callers want to \
        be
        """
    }
    static let mode = Variable.word(
        "mode",
        standard: ServerConfiguration.Mode.production,
        """
        \(Variable<ServerConfiguration.Mode>.words); appears in the log. Two things depend on it: where [mails](#mail) \
        go when no mail server is set, and whether `FEDERATION_TRUSTED_PROXIES` must be given
        """
    )
    static let configFile = Variable.text(
        "config.file",
        "path",
        "a JSON file with further values; see [The file](#the-file)"
    )

    static let all: [any DeclaredVariable] = [
        listen, managementListen, socketMode, socketGroup, proxies, managementProxies, publicURL, operatorOrigin,
        loginLogDays, upkeepEnabled, logLevel, metricsAccess, otlpEndpoint, tracesPercent, mode, configFile,
    ]
}

/// The variables of the listeners' TLS.
enum TLSVariables {
    static let certificate = Variable.text(
        "tls.certificate.file",
        "path",
        "the certificate of the public listener, and behind it those that lead to an authority"
    )
    static let key = Variable.text(
        "tls.key.file",
        "path",
        "its private key, without a passphrase; both are set, or none"
    )
    static let strictTransport = Variable.integer("tls.hsts.seconds", in: 0...63_072_000, "s", standard: 31_536_000) {
        """
        how long browsers that have come to the public listener by its TLS shall come by no other way \
        (`Strict-Transport-Security`), \($0); 0 makes them forget it
        """
    }
    static let managementCertificate = Variable.text(
        "management.tls.certificate.file",
        "path",
        "the certificate of the management listener"
    )
    static let managementKey = Variable.text("management.tls.key.file", "path", "its private key")
    static let managementClients = Variable.text(
        "management.tls.client.ca.file",
        "path",
        "the authorities of which everybody who calls the management listener needs a certificate, for health as well"
    )

    static let all: [any DeclaredVariable] = [
        certificate, key, strictTransport, managementCertificate, managementKey, managementClients,
    ]
}

/// The variables that all provider kinds share.
enum ProviderVariables {
    static let authorities = Variable.text(
        "ca.file",
        "path",
        "PEM file of the authorities to trust for Graph and Twitter, in place of the system's"
    )

    static let all: [any DeclaredVariable] =
        ProviderKinds.variables.filter { !($0 is Variable<Duration>) } + [authorities]
}
