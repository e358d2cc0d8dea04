/// The API key by which a request has found its application.
package struct APIKey: Sendable {
    /// As the client sent it; only a key that was accepted gets here.
    package let text: Secret
    /// The operator's name for it.
    package let label: String
    /// Whether it is a server's: that may do what concerns other users than the session's own.
    package let isServer: Bool

    package init(text: Secret, label: String, isServer: Bool) {
        self.text = text
        self.label = label
        self.isServer = isServer
    }
}
