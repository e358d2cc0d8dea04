import Curl
import Facebook
import Logging
import Providers
import Secrets
import SignedTokens
import Twitter
import Vocabulary

extension ProviderKinds {
    /// The kinds of providers of this service: the one place that a further one is added to.
    static func all(
        curl: CurlClient,
        graph: GraphConfiguration,
        twitter: TwitterConfiguration,
        logger: Logger
    ) -> ProviderKinds {
        let graph = GraphClient(curl: curl, configuration: graph)
        let keys = SigningKeys(issuer: "Facebook", logger: logger) { (deadline) throws(Failure) in
            try await graph.signingKeys(deadline: deadline)
        }
        return ProviderKinds([
            FacebookKind(graph: graph, keys: keys, clock: .system),
            TwitterKind(client: TwitterClient(curl: curl, configuration: twitter, clock: .system, random: .system)),
        ])
    }

    /// The kinds by which documents are read where there is no configuration; nobody is asked anything.
    static func forDocuments() throws -> ProviderKinds {
        all(
            curl: try CurlClient(configuration: CurlConfiguration()),
            graph: try GraphConfiguration(),
            twitter: try TwitterConfiguration(),
            logger: Logger(label: "federation")
        )
    }
}
