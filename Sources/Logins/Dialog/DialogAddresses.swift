/// The addresses of this service that a browser opens on the way to a dialog and back.
///
/// The form of the addresses depends on the client's protocol. All addresses have the same host, since the browser
/// sends the login's cookie only to that host.
package struct DialogAddresses: Sendable {
    /// Returns the address of this service's page that leads to the provider's dialog.
    ///
    /// The address contains the ticket, which is the client's encrypted request for the dialog.
    let start: @Sendable (_ ticket: String) -> String
    /// The address to which the provider sends the browser back.
    let redirectURI: String

    package init(start: @escaping @Sendable (_ ticket: String) -> String, redirectURI: String) {
        self.start = start
        self.redirectURI = redirectURI
    }
}
