package import Curl
package import Domain
package import Logging

/// A provider kind that sends HTTP requests to the provider.
///
/// The service configures it at start, from environment variables.
package protocol UpstreamKind: ProviderKind {
    /// The environment variables with the kind's addresses and timeouts, in the order of docs/configuration.md.
    static var variables: [any DeclaredVariable] { get }

    /// Reads the provider kind's environment variables.
    ///
    /// - Returns: The configuration of the kind; nil if a variable is invalid, which the settings record as a problem.
    static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup?
}

/// Reads configuration values of the service from its environment variables, and collects problems.
package protocol UpstreamSettings {
    /// Returns the value of a configuration variable.
    ///
    /// If the variable is not set, the value is its default. If the text is invalid, the method records a problem and
    /// returns the default.
    mutating func value<Value>(_ variable: Variable<Value>) -> Value
    /// Records a problem with a configuration variable.
    mutating func problem(_ variable: any DeclaredVariable, _ text: String)
}

/// The configuration of a provider kind from environment variables, and how to create the kind from it.
package struct UpstreamSetup: Sendable {
    /// Whether requests to the provider use TLS.
    package let usesTLS: Bool
    /// Creates the provider kind from what all provider kinds share, such as the HTTP client.
    package let kind: @Sendable (UpstreamParts) -> any ProviderKind

    package init(usesTLS: Bool, kind: @escaping @Sendable (UpstreamParts) -> any ProviderKind) {
        self.usesTLS = usesTLS
        self.kind = kind
    }
}

/// What all provider kinds share: the HTTP client, the clock, the random source and the logger.
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

/// Settings in which every configuration variable has its default, for provider kinds that send no requests.
package struct NoSettings: UpstreamSettings {
    package init() {}

    package func value<Value>(_ variable: Variable<Value>) -> Value { variable.standard }
    package func problem(_ variable: any DeclaredVariable, _ text: String) {}
}
