/// The addresses of ours that a browser calls on its way to a dialog and back, as the client's protocol has them: on
/// one host, since what the browser keeps is for that alone.
package struct DialogAddresses: Sendable {
    /// Of the page that begins the dialog of a ticket.
    let start: @Sendable (_ ticket: String) -> String
    /// Where the provider sends the browser back to.
    let redirectURI: String

    package init(start: @escaping @Sendable (_ ticket: String) -> String, redirectURI: String) {
        self.start = start
        self.redirectURI = redirectURI
    }
}
