import Console
import Curl
import Domain
import Facebook
import Logging
import OAuth2
import OpenID
import Providers
import Secrets
import Twitter

extension ProviderKinds {
    /// The provider kinds of this service, such as Facebook; a new kind is added only to this list.
    private static let wired: [any UpstreamKind.Type] = [
        FacebookKind.self,
        TwitterKind.self,
        OpenIDKind.self,
        OAuth2Kind.self,
    ]

    /// The configuration variables of all provider kinds.
    ///
    /// Kinds may share a variable.
    static var variables: [any DeclaredVariable] {
        wired.flatMap { $0.variables }.reduce(into: []) { known, variable in
            if !known.contains(where: { $0.key == variable.key }) { known.append(variable) }
        }
    }

    /// Reads the configuration of each provider kind from the service's variables.
    ///
    /// A kind whose configuration has a problem is left out.
    static func setups(from settings: inout some UpstreamSettings) -> [UpstreamSetup] {
        wired.compactMap { $0.setup(&settings) }
    }

    /// Creates the provider kinds from their configurations.
    init(_ setups: [UpstreamSetup], curl: CurlClient, logger: Logger) {
        let parts = UpstreamParts(curl: curl, clock: .system, random: .system, logger: logger)
        self.init(setups.map { $0.kind(parts) })
    }

    /// Returns the provider kinds for commands that read application documents without the service's configuration.
    ///
    /// These kinds send no request to a provider.
    static func forDocuments() throws -> ProviderKinds {
        var settings = NoSettings()
        return ProviderKinds(
            setups(from: &settings),
            curl: try CurlClient(configuration: CurlConfiguration()),
            logger: Logger(label: "federation")
        )
    }
}

extension ProviderCard {
    /// Creates the console's description of a provider kind.
    init(_ kind: any ProviderKind) {
        func address(_ entered: EnteredAddress) -> Address {
            Address(place: entered.place, title: entered.title, name: entered.name)
        }
        self.init(
            name: kind.name.text,
            title: kind.title,
            dialogReturn: kind.dialogReturn.map(address),
            callbacks: kind.callbacks.map(address),
            presets: kind.presets.map { ($0.name, $0.title, $0.steps) },
            settings: kind.settingFields,
            app: kind.appTerms.fields
        )
    }
}
