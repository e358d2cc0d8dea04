/// The names of a service to which requests are sent.
package struct UpstreamService: Sendable {
    /// The display name in messages, such as `Facebook`.
    package let name: String
    /// The name of its API in our log, such as `Graph`.
    package let api: String

    package init(name: String, api: String) {
        self.name = name
        self.api = api
    }
}
