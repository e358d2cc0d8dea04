package import Description

/// A provider kind, as the console presents it.
package struct ProviderCard: Sendable {
    /// An address of the service that an operator enters at the provider.
    package struct Address: Sendable {
        /// The page in the provider's own console.
        let place: String
        /// The title of the field on that page.
        let title: String
        /// The last path segment of the address.
        let name: String

        package init(place: String, title: String, name: String) {
            (self.place, self.title, self.name) = (place, title, name)
        }
    }

    let name: String
    /// The displayed name.
    let title: String
    /// The redirect address of the provider's dialog; nil if the provider has no dialog.
    let dialogReturn: Address?
    /// The addresses of the provider's callbacks.
    let callbacks: [Address]
    /// The options of a provider of this kind, without those of its apps.
    let settings: [FieldDescription]
    /// The members of an app, the id first.
    let app: [FieldDescription]

    package init(
        name: String,
        title: String,
        dialogReturn: Address?,
        callbacks: [Address],
        settings: [FieldDescription],
        app: [FieldDescription]
    ) {
        (self.name, self.title, self.dialogReturn, self.callbacks) = (name, title, dialogReturn, callbacks)
        (self.settings, self.app) = (settings, app)
    }
}

extension Console {
    /// Returns the displayed name of a login method: a provider's name, or one of the service's own methods.
    func methodTitle(_ name: String) -> String {
        // `socialAccount` contains the words of client SDKs, such as BACKENDLESS for registered users.
        let name = name.lowercased()
        return switch name {
        case "password", "backendless": "Password"
        case "passkey": "Passkey"
        case "guest": "Guest"
        case "server": "Server, for the user"
        case "provider": "Provider"
        default: kinds.first { $0.name == name }?.title ?? name
        }
    }
}
