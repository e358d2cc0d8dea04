package import Mapping
package import Vocabulary

/// A kind of provider: how its instances are set up, and what makes them.
///
/// An application may have several instances of a kind, under names that its operator chooses.
package protocol ProviderKind: Sendable {
    /// The name of the kind, and of an instance that is called no other.
    var name: ProviderName { get }
    /// The name for people.
    var title: String { get }
    /// What a mapping can read of a person.
    var fields: ProfileFields { get }
    /// How it tells people apart.
    var subjects: SubjectRule { get }
    /// How documents speak of the application's apps.
    var appTerms: AppTerms { get }
    /// The members of its settings beside `enabled`, the apps and the secret options.
    var optionNames: [String] { get }
    /// The members of its settings that are secrets; they stand behind the other options.
    var secretOptions: [SecretOption] { get }
    /// Options that an exported document names even where they equal their default, which a later version may change.
    var exportedOptions: [String] { get }
    /// The addresses that an operator enters in the provider's console for the provider's calls.
    var callbacks: [EnteredAddress] { get }
    /// The address that an operator enters there for people who come back from the dialog; nil for a kind without one.
    var dialogReturn: EnteredAddress? { get }

    /// The options among the members of an object, with the default of each that is absent; the others are not looked
    /// at.
    func options(in object: JSONObject, at place: JSONPointer, problems: inout DocumentProblems) -> JSONValue
    /// What is wrong with options that are each right by themselves; the secret ones are not looked at.
    func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems)
    /// The provider of an application.
    ///
    /// - Throws: `DocumentProblems` for options that another version wrote.
    func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider
}

extension ProviderKind {
    /// Texts of any form, for each app others, as OpenID Connect has it.
    package var subjects: SubjectRule { SubjectRule() }
    /// None.
    package var callbacks: [EnteredAddress] { [] }
    /// None.
    package var dialogReturn: EnteredAddress? { nil }
}

/// What an operator has set of a provider, ready to work with.
package struct ProviderSetup: Sendable {
    /// What the operator calls the instance.
    package let name: ProviderName
    package let application: ApplicationID
    /// Whether people can log in by it.
    package let isEnabled: Bool
    /// The application's apps at the provider whose secret opens, the one asked first in front.
    package let apps: [ProviderApp]
    package let options: JSONValue
    /// The secret options that are set, by their names.
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

/// An address of the service that an operator enters in the provider's own console.
package struct EnteredAddress: Sendable {
    /// The page of that console.
    package let place: String
    /// The page's name for the address.
    package let title: String
    /// The end of the address, such as `webhook`.
    package let name: String

    package init(place: String, title: String, name: String) {
        (self.place, self.title, self.name) = (place, title, name)
    }
}

/// The words of documents for the apps at a provider.
package struct AppTerms: Sendable {
    /// The members of an element of `apps`.
    package let id: String
    package let secret: String
    /// What a secret is called in a sentence.
    package let secretTitle: String
    /// The configuration at the provider that the login dialog follows; nil where there is no such thing.
    package let configID: String?
    /// What `isID` asks for, of an app's id and of that of a configuration, for messages.
    package let idRule: String
    package let isID: @Sendable (String) -> Bool

    package init(
        id: String,
        secret: String,
        secretTitle: String,
        configID: String? = nil,
        idRule: String,
        isID: @escaping @Sendable (String) -> Bool
    ) {
        self.id = id
        self.secret = secret
        self.secretTitle = secretTitle
        self.configID = configID
        self.idRule = idRule
        self.isID = isID
    }

    /// Adds the id of an app's configuration, if it has one, to the app as an object.
    package func write(configID: String?, into app: inout JSONObject) {
        if let configID, let name = self.configID { app.append(name, .string(configID)) }
    }
}
