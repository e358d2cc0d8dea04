package import Curl
package import Domain
package import Logging

/// A provider kind that sends HTTP requests.
///
/// The service sets it up at its start, from environment variables.
package protocol UpstreamKind: ProviderKind {
    /// The environment variables with the kind's addresses and timeouts, in the order of docs/configuration.md.
    static var variables: [any DeclaredVariable] { get }

    /// Reads the environment variables.
    ///
    /// - Returns: The set-up; nil if a problem was noted in the settings.
    static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup?
}

/// The settings of the service, as its environment variables give them.
package protocol UpstreamSettings {
    /// Returns the value of a variable. If the variable is not set, returns the default. If it is invalid, notes the
    /// problem and returns the default.
    mutating func value<Value>(_ variable: Variable<Value>) -> Value
    /// Notes a problem with a variable.
    mutating func problem(_ variable: any DeclaredVariable, _ text: String)
}

/// What the environment variables say about a provider kind, and how to create the kind.
package struct UpstreamSetup: Sendable {
    /// Whether the provider is reached by TLS.
    package let usesTLS: Bool
    /// Creates the provider kind from the parts that all kinds share.
    package let kind: @Sendable (UpstreamParts) -> any ProviderKind

    package init(usesTLS: Bool, kind: @escaping @Sendable (UpstreamParts) -> any ProviderKind) {
        self.usesTLS = usesTLS
        self.kind = kind
    }
}

/// The parts of the service that all provider kinds share: HTTP client, clock, random source and logger.
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

/// Settings in which every variable has its default, for kinds that send no requests.
package struct NoSettings: UpstreamSettings {
    package init() {}

    package func value<Value>(_ variable: Variable<Value>) -> Value { variable.standard }
    package func problem(_ variable: any DeclaredVariable, _ text: String) {}
}
