package import Curl
package import Logging
package import Providers
package import Vocabulary

/// A kind of provider that is asked over HTTP, as the wiring makes it.
package protocol UpstreamKind: ProviderKind {
    /// Reads where it is asked and how long it is waited for.
    ///
    /// - Returns: Nil when the settings have noted a problem.
    static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup?
}

/// Settings of the service by their names: `graph.url` is FEDERATION_GRAPH_URL in docs/configuration.md.
package protocol UpstreamSettings {
    /// A text; nil when it is not set.
    func text(_ key: String) -> String?
    /// The URL of something that we call, or send a browser to; nil after noting what is wrong with it.
    mutating func upstream(_ key: String, default value: String) -> String?
    /// A duration that is set in milliseconds.
    mutating func milliseconds(_ key: String, default value: Int) -> Duration
    /// Notes what is wrong with a setting.
    mutating func problem(_ key: String, _ text: String)
}

/// What the settings say of a kind.
package struct UpstreamSetup: Sendable {
    /// Whether it is reached by TLS.
    package let usesTLS: Bool
    /// Makes the kind.
    package let kind: @Sendable (UpstreamParts) -> any ProviderKind

    package init(usesTLS: Bool, kind: @escaping @Sendable (UpstreamParts) -> any ProviderKind) {
        self.usesTLS = usesTLS
        self.kind = kind
    }
}

/// What all kinds are made from.
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

/// Settings of which none is set, for whom asks nobody.
package struct NoSettings: UpstreamSettings {
    package init() {}

    package func text(_ key: String) -> String? { nil }
    package func upstream(_ key: String, default value: String) -> String? { value }
    package func milliseconds(_ key: String, default value: Int) -> Duration { .milliseconds(value) }
    package func problem(_ key: String, _ text: String) {}
}
