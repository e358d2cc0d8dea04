/// What the console says of a kind of provider.
package struct ProviderCard: Sendable {
    /// An address of the service that is entered at the provider.
    package struct Address: Sendable {
        /// The page of the provider's console.
        let place: String
        /// What the page calls it.
        let title: String
        /// The end of the address.
        let name: String

        package init(place: String, title: String, name: String) {
            (self.place, self.title, self.name) = (place, title, name)
        }
    }

    let name: String
    /// The name for people.
    let title: String
    /// Where people come back to from the provider's dialog; nil where it has none.
    let dialogReturn: Address?
    /// The others.
    let callbacks: [Address]

    package init(name: String, title: String, dialogReturn: Address?, callbacks: [Address]) {
        (self.name, self.title, self.dialogReturn, self.callbacks) = (name, title, dialogReturn, callbacks)
    }
}

extension Console {
    /// A login method as people know it: a provider by its name, or one of ours.
    func methodTitle(_ name: String) -> String {
        // The property `socialAccount` has the words of client SDKs, such as BACKENDLESS of who registered.
        let name = name.lowercased()
        return switch name {
        case "password", "backendless": "Password"
        case "passkey": "Passkey"
        case "guest": "Guest"
        case "server": "A server, for the user"
        case "provider": "A provider"
        default: kinds.first { $0.name == name }?.title ?? name
        }
    }
}
