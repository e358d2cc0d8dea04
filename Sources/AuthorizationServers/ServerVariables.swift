package import Providers

/// The timeouts of requests to authorization servers, and which servers may be called.
package struct CallConfiguration: Sendable {
    let callTimeout: Duration
    let connectTimeout: Duration
    /// Whether a server may have an address that is not of the public internet.
    let allowsPrivateServers: Bool
    /// The maximum size of a decoded response in bytes.
    let maxReplyBytes: Int

    package init(
        callTimeout: Duration = .milliseconds(2500),
        connectTimeout: Duration = .milliseconds(1000),
        allowsPrivateServers: Bool = false,
        maxReplyBytes: Int = 262_144
    ) {
        self.callTimeout = callTimeout
        self.connectTimeout = connectTimeout
        self.allowsPrivateServers = allowsPrivateServers
        self.maxReplyBytes = maxReplyBytes
    }

    /// Reads the configuration from the environment variables.
    package init(_ settings: inout some UpstreamSettings) {
        self.init(
            callTimeout: settings.value(ServerVariables.call),
            connectTimeout: settings.value(ServerVariables.connect),
            allowsPrivateServers: settings.value(ServerVariables.privateServers)
        )
    }
}

/// The environment variables for authorization servers, which the kinds `oidc` and `oauth2` share.
package enum ServerVariables {
    static let connect = Variable.milliseconds(
        "oauth.connect",
        standard: 1000,
        """
        Timeout of a connection to an issuer of OpenID Connect or another authorization server: address lookup, TCP \
        and TLS.
        """
    )
    static let call = Variable.milliseconds(
        "oauth.call",
        standard: 2500,
        "Timeout of one request to an authorization server, from the address lookup to the last byte."
    )
    static let privateServers = Variable<Bool>(
        "oauth.private.servers",
        "`allow`, `refuse`",
        standard: false,
        text: "refuse",
        """
        Whether issuers and other authorization servers may have addresses that are not of the public internet. \
        Otherwise, an operator of one application could make the service send requests into your network.
        """
    ) { text throws(WrongValue) in
        switch text {
        case "allow": true
        case "refuse": false
        default: throw WrongValue("must be allow or refuse")
        }
    }

    package static let all: [any DeclaredVariable] = [connect, call, privateServers]
}
