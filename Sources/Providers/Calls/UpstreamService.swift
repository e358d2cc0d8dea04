/// The names of an external service to which this service sends requests, such as Facebook.
package struct UpstreamService: Sendable {
    /// The display name in messages, such as `Facebook`.
    package let name: String
    /// The name of the external service's API in this service's log, such as `Graph`.
    package let api: String

    package init(name: String, api: String) {
        self.name = name
        self.api = api
    }
}
