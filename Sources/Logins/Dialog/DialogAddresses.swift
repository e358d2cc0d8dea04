/// The addresses of this service that a browser opens on its way to a dialog and back.
///
/// The client's protocol decides their form. They share one host, since the browser's cookie is for that host alone.
package struct DialogAddresses: Sendable {
    /// Returns the address of the page that begins the dialog of a ticket.
    let start: @Sendable (_ ticket: String) -> String
    /// The address to which the provider sends the browser back.
    let redirectURI: String

    package init(start: @escaping @Sendable (_ ticket: String) -> String, redirectURI: String) {
        self.start = start
        self.redirectURI = redirectURI
    }
}
