package import Description

/// What the console shows of a provider kind.
package struct ProviderCard: Sendable {
    /// A URL of this service that an operator enters at the provider.
    package struct Address: Sendable {
        /// The page in the provider's own console on which the operator enters the URL.
        let place: String
        /// The title of the field in which the operator enters the URL.
        let title: String
        /// The last path segment of the URL.
        let name: String

        package init(place: String, title: String, name: String) {
            (self.place, self.title, self.name) = (place, title, name)
        }
    }

    let name: String
    /// The displayed name of the provider kind.
    let title: String
    /// The URL to which the provider's login dialog redirects the browser; nil if the provider has no dialog.
    let dialogReturn: Address?
    /// The URLs to which the provider sends its callbacks.
    let callbacks: [Address]
    /// The known providers of this kind: the value of the option `preset`, the displayed name, and what an operator
    /// does.
    let presets: [(name: String, title: String, steps: [String])]
    /// The options of a provider of this kind, except those of its apps.
    let settings: [FieldDescription]
    /// The fields of an app at a provider of this kind; the app's id comes first.
    let app: [FieldDescription]

    package init(
        name: String,
        title: String,
        dialogReturn: Address?,
        callbacks: [Address],
        presets: [(name: String, title: String, steps: [String])] = [],
        settings: [FieldDescription],
        app: [FieldDescription]
    ) {
        (self.name, self.title, self.dialogReturn, self.callbacks) = (name, title, dialogReturn, callbacks)
        (self.presets, self.settings, self.app) = (presets, settings, app)
    }

    /// The names and titles of the secrets of a provider of this kind.
    var secrets: [(String, String)] { (settings + app).filter(\.isSecret).map { ($0.name, $0.title) } }
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
