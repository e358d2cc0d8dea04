import Console
import Curl
import Facebook
import Logging
import Providers
import Secrets
import Twitter
import Upstream
import Vocabulary

extension ProviderKinds {
    /// The kinds of providers of this service: the one place that a further one is added to.
    private static let wired: [any UpstreamKind.Type] = [
        FacebookKind.self,
        TwitterKind.self,
    ]

    /// What the settings say of each kind; of one with a problem nothing.
    static func setups(from settings: inout some UpstreamSettings) -> [UpstreamSetup] {
        wired.compactMap { $0.setup(&settings) }
    }

    /// The kinds, as the settings say.
    init(_ setups: [UpstreamSetup], curl: CurlClient, logger: Logger) {
        let parts = UpstreamParts(curl: curl, clock: .system, random: .system, logger: logger)
        self.init(setups.map { $0.kind(parts) })
    }

    /// The kinds by which documents are read where there is no configuration; nobody is asked anything.
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
    /// What the console says of a kind.
    init(_ kind: any ProviderKind) {
        func address(_ entered: EnteredAddress) -> Address {
            Address(place: entered.place, title: entered.title, name: entered.name)
        }
        self.init(
            name: kind.name.text,
            title: kind.title,
            dialogReturn: kind.dialogReturn.map(address),
            callbacks: kind.callbacks.map(address)
        )
    }
}
