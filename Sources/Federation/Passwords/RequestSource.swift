/// Where a request comes from, as far as attempts are counted for it: a text of bounded length that names a network.
package struct RequestSource: Sendable {
    let name: String

    package init(name: String) {
        self.name = name
    }
}
