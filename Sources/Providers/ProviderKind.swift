package import Description
package import Domain
package import Encodings
package import Mapping

/// A kind of identity provider, such as Facebook or Twitter.
///
/// The kind validates the settings of its providers and creates the providers. An application may have several
/// providers of one kind. The operator chooses their names.
package protocol ProviderKind: Sendable {
    /// The options of a provider: all its settings except `enabled`, the apps and the secret options.
    associatedtype Options: ProviderOptions

    /// The name of the kind. It is also the default name of a provider of this kind.
    var name: ProviderName { get }
    /// The display name of the provider kind.
    var title: String { get }
    /// The fields of a profile that a mapping can read.
    var fields: ProfileFields { get }
    /// The form of this kind's subjects (user ids), and whether a user has the same subject at all apps.
    var subjects: SubjectRule { get }
    /// The names that documents have for the id and the secret of an app of this kind.
    var appTerms: AppTerms { get }
    /// The secret options of the kind; documents list them after the other options.
    var secretOptions: [SecretOption] { get }
    /// The options that an exported document contains even if they have their default values.
    ///
    /// Otherwise, an import into a later version with other defaults would change these options.
    var exportedOptions: [String] { get }
    /// The URLs for callbacks, which an operator enters in the provider's console.
    var callbacks: [EnteredAddress] { get }
    /// The redirect URI of the dialog, which an operator enters in the provider's console; nil for a kind without a
    /// dialog.
    var dialogReturn: EnteredAddress? { get }

    /// The presets of the option `preset`, with the steps of each; empty for a kind without presets.
    var presets: [PresetGuide] { get }

    /// Checks what the description of the options does not: presets, and options that depend on each other.
    ///
    /// Secret options are not checked.
    func check(_ options: Options, at place: JSONPointer, problems: inout DocumentProblems)
    /// The option with a list of apps that have no secret, such as the client ids of mobile apps; nil for none.
    var secretlessApps: String? { get }
    /// Creates the provider of an application.
    ///
    /// - Throws: `DocumentProblems` if another version wrote the options and this version cannot read them.
    func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider
}

extension ProviderKind {
    package var optionShape: ObjectShape { Options.description.shape }

    /// Reads the options among the members of an object, and ignores all others.
    ///
    /// An absent option has its default.
    package func options(in object: JSONObject, at place: JSONPointer, problems: inout DocumentProblems) -> JSONValue {
        Options.description.document(of: Options.description.read(membersOf: object, at: place, problems: &problems))
    }

    /// Checks options in the form in which they are stored.
    ///
    /// Options that cannot be read are not checked: whoever read them from a document has reported that.
    package func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        guard let options = try? Options(options) else { return }
        check(options, at: place, problems: &problems)
    }

    /// The default for kinds whose description has all rules: no check.
    package func check(_ options: Options, at place: JSONPointer, problems: inout DocumentProblems) {}

    /// The default for kinds that define no rule: a subject is any text, and may differ from app to app, as in OpenID
    /// Connect.
    package var subjects: SubjectRule { SubjectRule() }
    /// The members that the settings of a provider have, without its kind and its apps.
    package var settingFields: [FieldDescription] { Self.settingFields(optionShape, secretOptions) }

    /// Returns the members that the settings of a provider have, given its options and secret options: all except the
    /// kind and the apps.
    package static func settingFields(_ options: ObjectShape, _ secrets: [SecretOption]) -> [FieldDescription] {
        let enabled = FieldDescription(
            name: "enabled",
            title: "Accept logins",
            meaning: "Whether logins with this provider are accepted.",
            shape: .flag,
            defaultValue: .bool(true)
        )
        return [enabled] + options.fields + secrets.map(\.field)
    }

    /// The default for kinds whose apps all have a secret: nil.
    package var secretlessApps: String? { nil }

    /// Returns whether a provider with these options accepts no login without an app that has a secret.
    package func needsApp(_ options: JSONValue) -> Bool {
        secretlessApps.flatMap { options.object?[$0]?.array }?.isEmpty ?? true
    }
    /// The default for kinds without presets: an empty list.
    package var presets: [PresetGuide] { [] }
    /// The default for kinds without callbacks: an empty list.
    package var callbacks: [EnteredAddress] { [] }
    /// The default for kinds without a login dialog: nil.
    package var dialogReturn: EnteredAddress? { nil }
}

/// The settings from which the provider of an application is created, decrypted and validated.
package struct ProviderSetup: Sendable {
    /// The operator's name for the provider.
    package let name: ProviderName
    package let application: ApplicationID
    /// Whether users can log in with the provider.
    package let isEnabled: Bool
    /// The application's apps at the provider, in the order in which they are tried.
    ///
    /// Apps whose secret cannot be decrypted are left out.
    package let apps: [ProviderApp]
    package let options: JSONValue
    /// The secret options that have a value, by name.
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

/// A URL of this service that an operator enters in the provider's console.
package struct EnteredAddress: Sendable {
    /// The page of the provider's console that has the form field for the URL.
    package let place: String
    /// The name that the provider's console has for the form field.
    package let title: String
    /// The last path segment of the URL, such as `webhook`.
    package let name: String

    package init(place: String, title: String, name: String) {
        (self.place, self.title, self.name) = (place, title, name)
    }
}

/// What an operator does to set a known provider up, step by step.
package struct PresetGuide: Sendable {
    /// The name of the preset.
    package let name: String
    /// The displayed name of the provider.
    package let title: String
    /// The steps, each in whole sentences.
    package let steps: [String]

    package init(name: String, title: String, steps: [String]) {
        (self.name, self.title, self.steps) = (name, title, steps)
    }
}

/// How documents and pages name and describe the id and the secret of an app at this kind of provider.
package struct AppTerms: Sendable {
    /// The description of the field with the app's id at the provider.
    package let idField: FieldDescription
    /// The description of the field with the secret that the app shares with the provider.
    package let secretField: FieldDescription
    /// The description of the field with the configuration that login dialogs follow; nil for a kind without
    /// configurations.
    package let configIDField: FieldDescription?
    /// The words for the secret within a sentence, such as "the app secret".
    package let secretTitle: String
    /// The rule for the text of an app's id and of a configuration's id.
    package let idRule: TextRule

    /// Creates the terms for an app at this kind of provider.
    ///
    /// The id, the secret and the configuration id of an app each have a name in documents, a display name, and a
    /// description of their meaning.
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

    /// Adds the id of the app's configuration at the provider, if it has one, to the JSON object of the app.
    package func write(configID: String?, into app: inout JSONObject) {
        if let configID, let name = self.configID { app.append(name, .string(configID)) }
    }
}
