/// The names of the service that requests are sent to.
package struct UpstreamService: Sendable {
    /// The display name, in messages: `Facebook`.
    package let name: String
    /// The name of its API, in our log: `Graph`.
    package let api: String

    package init(name: String, api: String) {
        self.name = name
        self.api = api
    }
}
