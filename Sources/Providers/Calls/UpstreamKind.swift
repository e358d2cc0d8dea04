package import Curl
package import Domain
package import Logging

/// A provider kind that is called over HTTP, as the wiring sets it up.
package protocol UpstreamKind: ProviderKind {
    /// The environment variables with its addresses and timeouts, in the order of docs/configuration.md.
    static var variables: [any DeclaredVariable] { get }

    /// Reads the variables.
    ///
    /// - Returns: The set-up; nil when a problem was noted in the settings.
    static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup?
}

/// The settings of the service from its environment variables.
package protocol UpstreamSettings {
    /// Returns the value of a variable; the default when it is not set, or is invalid, which is noted.
    mutating func value<Value>(_ variable: Variable<Value>) -> Value
    /// Notes a problem with a variable.
    mutating func problem(_ variable: any DeclaredVariable, _ text: String)
}

/// The set-up of a provider kind from the settings.
package struct UpstreamSetup: Sendable {
    /// Whether the provider is reached by TLS.
    package let usesTLS: Bool
    /// Creates the kind.
    package let kind: @Sendable (UpstreamParts) -> any ProviderKind

    package init(usesTLS: Bool, kind: @escaping @Sendable (UpstreamParts) -> any ProviderKind) {
        self.usesTLS = usesTLS
        self.kind = kind
    }
}

/// The shared parts that all kinds are made from.
package struct UpstreamParts: Sendable {
    package let curl: CurlClient
    package let clock: WallClock
    package let random: RandomSource
    package let logger: Logger

    package init(curl: CurlClient, clock: WallClock, random: RandomSource, logger: Logger) {
        self.curl = curl
        self.clock = clock
        self.random = random
        self.logger = logger
    }
}

/// Settings with all defaults, for kinds that send no requests.
package struct NoSettings: UpstreamSettings {
    package init() {}

    package func value<Value>(_ variable: Variable<Value>) -> Value { variable.standard }
    package func problem(_ variable: any DeclaredVariable, _ text: String) {}
}
