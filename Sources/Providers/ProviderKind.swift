package import Description
package import Domain
package import Encodings
package import Mapping

/// A provider kind: the settings of its providers, and the factory for them.
///
/// An application may have several providers of one kind, under names that its operator chooses.
package protocol ProviderKind: Sendable {
    /// The name of the kind, and the default name of a provider of this kind.
    var name: ProviderName { get }
    /// The display name.
    var title: String { get }
    /// The fields of a profile that a mapping can read.
    var fields: ProfileFields { get }
    /// The form and the scope of subjects.
    var subjects: SubjectRule { get }
    /// The terms for the application's apps in documents.
    var appTerms: AppTerms { get }
    /// The options of the kind: its settings without `enabled`, the apps and the secret options.
    var optionShape: ObjectShape { get }
    /// The options that are secrets; they stand behind the other options.
    var secretOptions: [SecretOption] { get }
    /// Options that an exported document names even when they have their default, which a later version may change.
    var exportedOptions: [String] { get }
    /// The addresses that an operator enters in the provider's console for callbacks.
    var callbacks: [EnteredAddress] { get }
    /// The redirect URI of the dialog that an operator enters in the console; nil for a kind without a dialog.
    var dialogReturn: EnteredAddress? { get }

    /// Reads the options among the members of an object; an absent option has its default.
    ///
    /// Other members are ignored.
    func options(in object: JSONObject, at place: JSONPointer, problems: inout DocumentProblems) -> JSONValue
    /// Checks the combination of options that are each valid; secret options are not checked.
    func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems)
    /// Creates the provider of an application.
    ///
    /// - Throws: `DocumentProblems` for options that another version wrote.
    func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider
}

extension ProviderKind {
    /// Subjects are texts of any form, and differ between apps, as in OpenID Connect.
    package var subjects: SubjectRule { SubjectRule() }
    /// The members of a provider's settings except its kind and its apps.
    package var settingFields: [FieldDescription] { Self.settingFields(optionShape, secretOptions) }

    /// Returns the members of a provider's settings except its kind and its apps, from the options of the kind.
    package static func settingFields(_ options: ObjectShape, _ secrets: [SecretOption]) -> [FieldDescription] {
        let enabled = FieldDescription(
            name: "enabled",
            title: "Logins are accepted",
            meaning: "Whether logins are accepted.",
            shape: .flag,
            defaultValue: .bool(true)
        )
        return [enabled] + options.fields + secrets.map(\.field)
    }

    /// Empty by default.
    package var callbacks: [EnteredAddress] { [] }
    /// Nil by default.
    package var dialogReturn: EnteredAddress? { nil }
}

/// The settings of a provider, decrypted and validated.
package struct ProviderSetup: Sendable {
    /// The operator's name for the provider.
    package let name: ProviderName
    package let application: ApplicationID
    /// Whether users can log in with the provider.
    package let isEnabled: Bool
    /// The application's apps at the provider with a decryptable secret, in the order in which they are tried.
    package let apps: [ProviderApp]
    package let options: JSONValue
    /// The secret options that are set, by name.
    package let secrets: [String: Secret]

    package init(
        name: ProviderName,
        application: ApplicationID,
        isEnabled: Bool,
        apps: [ProviderApp],
        options: JSONValue,
        secrets: [String: Secret] = [:]
    ) {
        self.name = name
        self.application = application
        self.isEnabled = isEnabled
        self.apps = apps
        self.options = options
        self.secrets = secrets
    }
}

/// An address of the service that an operator enters in the provider's console.
package struct EnteredAddress: Sendable {
    /// The page of the console.
    package let place: String
    /// The page's name for the address.
    package let title: String
    /// The last part of the address, such as `webhook`.
    package let name: String

    package init(place: String, title: String, name: String) {
        (self.place, self.title, self.name) = (place, title, name)
    }
}

/// The terms for an app at a provider, in documents and for display.
package struct AppTerms: Sendable {
    /// The id of the app at the provider.
    package let idField: FieldDescription
    /// The secret that the app shares with the provider.
    package let secretField: FieldDescription
    /// The configuration at the provider that the login dialog follows; nil for a kind without configurations.
    package let configIDField: FieldDescription?
    /// The term for the secret within a sentence.
    package let secretTitle: String
    /// The form of an app's id, and of a configuration's id.
    package let idRule: TextRule

    /// Creates the terms; each member has a name in documents, a display name, and a meaning.
    package init(
        id: (name: String, title: String, meaning: String),
        _ rule: TextRule,
        secret: (name: String, title: String, meaning: String),
        called secretTitle: String,
        configID: (name: String, title: String, meaning: String)? = nil
    ) {
        func field(
            _ member: (name: String, title: String, meaning: String),
            _ shape: Shape,
            isRequired: Bool = true
        ) -> FieldDescription {
            FieldDescription(
                name: member.name,
                title: member.title,
                meaning: member.meaning,
                shape: shape,
                defaultValue: isRequired ? nil : .null
            )
        }
        idField = field(id, .text(rule))
        secretField = field(secret, .secret)
        configIDField = configID.map { field($0, .orNull(.text(rule)), isRequired: false) }
        self.secretTitle = secretTitle
        idRule = rule
    }

    package var id: String { idField.name }
    package var secret: String { secretField.name }
    package var configID: String? { configIDField?.name }
    package var fields: [FieldDescription] { [idField, secretField] + [configIDField].compactMap(\.self) }

    /// Writes the id of an app's configuration, if it has one, into the app's object.
    package func write(configID: String?, into app: inout JSONObject) {
        if let configID, let name = self.configID { app.append(name, .string(configID)) }
    }
}
