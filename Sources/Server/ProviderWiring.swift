import Console
import Curl
import Domain
import Facebook
import Logging
import Providers
import Secrets
import Twitter

extension ProviderKinds {
    /// The provider kinds of this service; a new kind is added only here.
    private static let wired: [any UpstreamKind.Type] = [
        FacebookKind.self,
        TwitterKind.self,
    ]

    /// The variables of all provider kinds.
    static var variables: [any DeclaredVariable] { wired.flatMap { $0.variables } }

    /// Reads the setup of each provider kind from the variables.
    ///
    /// Kinds with a problem are left out.
    static func setups(from settings: inout some UpstreamSettings) -> [UpstreamSetup] {
        wired.compactMap { $0.setup(&settings) }
    }

    /// Creates the provider kinds from their setups.
    init(_ setups: [UpstreamSetup], curl: CurlClient, logger: Logger) {
        let parts = UpstreamParts(curl: curl, clock: .system, random: .system, logger: logger)
        self.init(setups.map { $0.kind(parts) })
    }

    /// Returns the provider kinds for reading documents without a configuration; they make no request.
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
            settings: kind.settingFields,
            app: kind.appTerms.fields
        )
    }
}
