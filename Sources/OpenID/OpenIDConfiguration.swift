import Providers

/// The timeouts of requests to issuers, and which issuers may be called.
package struct OpenIDConfiguration: Sendable {
    let callTimeout: Duration
    let connectTimeout: Duration
    /// Whether an issuer may have an address that is not of the public internet.
    let allowsPrivateIssuers: Bool
    /// The maximum size of a decoded response in bytes.
    let maxReplyBytes: Int

    package init(
        callTimeout: Duration = .milliseconds(2500),
        connectTimeout: Duration = .milliseconds(1000),
        allowsPrivateIssuers: Bool = false,
        maxReplyBytes: Int = 262_144
    ) {
        self.callTimeout = callTimeout
        self.connectTimeout = connectTimeout
        self.allowsPrivateIssuers = allowsPrivateIssuers
        self.maxReplyBytes = maxReplyBytes
    }
}

/// The environment variables for OpenID Connect.
enum OpenIDVariables {
    static let connect = Variable.milliseconds(
        "openid.connect",
        standard: 1000,
        "Timeout of a connection to an issuer of OpenID Connect: address lookup, TCP and TLS."
    )
    static let call = Variable.milliseconds(
        "openid.call",
        standard: 2500,
        "Timeout of one request to an issuer, from the address lookup to the last byte."
    )
    static let privateIssuers = Variable<Bool>(
        "openid.private.issuers",
        "`allow`, `refuse`",
        standard: false,
        text: "refuse",
        """
        Whether issuers may have addresses that are not of the public internet. Otherwise, an operator of one \
        application could make the service send requests into your network.
        """
    ) { text throws(WrongValue) in
        switch text {
        case "allow": true
        case "refuse": false
        default: throw WrongValue("must be allow or refuse")
        }
    }

    static let all: [any DeclaredVariable] = [connect, call, privateIssuers]
}

extension OpenIDConfiguration {
    /// Reads the configuration from the environment variables.
    init(_ settings: inout some UpstreamSettings) {
        self.init(
            callTimeout: settings.value(OpenIDVariables.call),
            connectTimeout: settings.value(OpenIDVariables.connect),
            allowsPrivateIssuers: settings.value(OpenIDVariables.privateIssuers)
        )
    }
}
