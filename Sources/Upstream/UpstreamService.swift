/// The service that is asked, by its names.
package struct UpstreamService: Sendable {
    /// As people know it, in messages: `Facebook`.
    package let name: String
    /// As our log calls what was asked: `Graph`.
    package let api: String

    package init(name: String, api: String) {
        self.name = name
        self.api = api
    }
}
