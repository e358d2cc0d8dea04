import Graph
package import Identity
import Mapping
import Store

/// A provider whose word counts for who a person is: all that the rest of the service has to know of it.
///
/// A provider is a folder here: what it conforms with to this, the rules of its settings, and how its credentials are proved. What
/// is asked of it over HTTP is a module of its own. `IdentityProviders` lists them.
protocol IdentityProvider: Sendable {
    static var name: ProviderName { get }
    /// The name for people.
    static var title: String { get }
    /// What a mapping can read of a person.
    static var fields: ProfileFields { get }
    /// How documents speak of the application's apps.
    static var appTerms: AppTerms { get }
    /// The members of its settings beside `enabled`, the apps and the secret options.
    static var optionNames: [String] { get }
    /// The members of its settings that are secrets; they stand behind the other options.
    static var secretOptions: [SecretOption] { get }
    /// Options that an exported document names even where they equal their default, which a later version may change.
    static var exportedOptions: [String] { get }

    /// The options among the members of an object, with the default of each that is absent; the others are not looked at.
    static func options(in object: JSONObject, at place: JSONPointer, problems: inout DocumentProblems) -> JSONValue
    /// What is wrong with options that are each right by themselves; the secret ones are not looked at.
    static func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems)
    /// What logins work with; `secrets` are the secret options that are set, by their names.
    ///
    /// - Throws: `DocumentProblems` for options that another version wrote.
    static func settings(
        enabled: Bool,
        options: JSONValue,
        secrets: [String: Secret],
        apps: [ProviderApp]
    ) throws(DocumentProblems) -> any ProviderSettings

    /// What in settings has come to its end at the provider, or soon does, or is not known to have one.
    static func endings(in settings: any ProviderSettings, on day: CalendarDate) -> [String]
    /// What an operator should know about stored settings.
    static func warnings(
        about stored: StoredApplication.Provider,
        of application: ApplicationID,
        in administration: Administration
    ) -> [String]
    /// Asks the provider whether it knows an app by this id and secret.
    static func check(
        _ app: ProviderApp,
        of stored: StoredApplication.Provider,
        application: ApplicationID,
        inSchema schema: String,
        in administration: Administration
    ) async -> AppVerdict
    /// Proves a credential for a preview: nothing is used up and nothing written.
    static func preview(
        _ credential: CredentialFields,
        of loaded: LoadedApplication,
        appID: String?,
        mapping: CompiledMapping,
        in administration: Administration
    ) async throws(Failure) -> VerifiedPerson

    /// Proves the credential of a login.
    static func prove(_ attempt: LoginAttempt, in federation: Federation) async throws(Failure) -> ProvedLogin
}

/// The providers that there are: the one place that a new one is added to.
enum IdentityProviders {
    static let all: [any IdentityProvider.Type] = [FacebookProvider.self, TwitterProvider.self]

    static let names = all.map { $0.name }

    /// The provider of a name that is to be there.
    ///
    /// - Throws: `not_found`.
    static func type(of name: ProviderName) throws(Failure) -> any IdentityProvider.Type {
        guard let type = named(name) else { throw .noSuchProvider }
        return type
    }

    /// The provider of a name; nil when there is none.
    static func named(_ name: ProviderName) -> (any IdentityProvider.Type)? {
        all.first { $0.name == name }
    }
}

extension ProviderName {
    /// The names of the providers that there are.
    package static var known: [ProviderName] { IdentityProviders.names }

    /// The options in its settings.
    package var optionNames: [String] { IdentityProviders.named(self)?.allOptionNames ?? [] }

    /// The name for people.
    package var title: String { IdentityProviders.named(self)?.title ?? text }

    /// The members of an element of `apps` in its settings.
    package var appMembers: (id: String, secret: String, configID: String?) {
        let terms = IdentityProviders.named(self)?.appTerms
        return (terms?.id ?? "appId", terms?.secret ?? "appSecret", terms?.configID)
    }

    /// The provider that a path names, in any case, as client SDKs write it.
    ///
    /// - Throws: `not_found` before anything is asked of the database (T-84).
    package init(inPath text: (some StringProtocol)?) throws(Failure) {
        let lowered = text.map { $0.utf8.prefix(33).map(\.asciiLowercased) } ?? []
        guard let known = Self.known.first(where: { lowered.elementsEqual($0.text.utf8) }) else {
            throw .noSuchProvider
        }
        self = known
    }
}

extension LoadedApplication {
    /// The apps that a credential may be for: the one that the client names, or all of them in the operator's order.
    ///
    /// - Throws: `provider_not_configured`, `provider_misconfigured`.
    func apps(of provider: ProviderName, appID: String?) throws(Failure) -> [ProviderApp] {
        if let defect { throw Self.unusable(cause: defect) }
        guard let settings = application.providers[provider], settings.enabled, !settings.apps.isEmpty else {
            throw Failure(
                .providerNotConfigured,
                """
                Login with \(provider.title) is not set up for this application: its operator enables it, with \
                \(provider.appMembers.id) and \(provider.appMembers.secret) of an app.
                """
            )
        }
        guard let appID else { return settings.apps }
        let named = settings.apps.filter { $0.id.text.hasSameBytes(as: appID) }
        guard !named.isEmpty else {
            throw Failure(
                .providerNotConfigured,
                "appId is not one of this application's \(provider.title) apps."
            )
        }
        return named
    }
}

/// The words of documents for the apps at a provider.
struct AppTerms: Sendable {
    /// The members of an element of `apps`.
    let id: String
    let secret: String
    /// What a secret is called in a sentence.
    let secretTitle: String
    /// The configuration at the provider that the login dialog follows; nil where there is no such thing.
    var configID: String?
    /// What `isID` asks for, of an app's id and of that of a configuration, for messages.
    let idRule: String
    let isID: @Sendable (String) -> Bool

    /// Adds the id of an app's configuration, if it has one, to the app as an object.
    func write(configID: String?, into app: inout JSONObject) {
        if let configID, let name = self.configID { app.append(name, .string(configID)) }
    }
}

/// What a provider says of an app's id and secret.
struct AppVerdict: Sendable {
    var name: String?
    /// What is wrong, for people, and why; nil when all is well.
    var problem: (text: String, reason: Failure.Reason)?
    /// The version of its API with which the provider answered.
    var answeredVersion: String?
    /// What an operator should know of the app although nothing is wrong with its id and secret.
    var warnings: [String] = []
}

/// A credential that has been proved.
enum ProvedLogin: Sendable {
    /// It can be proved again. The plan is the one whose fields the provider was asked for.
    case repeatable(Proof, LoginPlan)
    /// It cannot. The client's mapping may have come with an earlier step.
    case usedUp(Proof, mapping: JSONValue?)
}

extension Failure {
    fileprivate static var noSuchProvider: Failure {
        let names = ProviderName.known.map(\.text).joined(separator: ", ")
        return Failure(.notFound, "There is no such login provider. Known are: \(names).")
    }
}
