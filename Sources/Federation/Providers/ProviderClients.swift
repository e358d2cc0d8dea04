package import Graph
package import Twitter

/// What the providers are asked by.
package struct ProviderClients: Sendable {
    package let graph: GraphClient
    package let twitter: TwitterClient

    package init(graph: GraphClient, twitter: TwitterClient) {
        self.graph = graph
        self.twitter = twitter
    }
}
