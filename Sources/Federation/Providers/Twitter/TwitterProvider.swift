package import Vocabulary
import Mapping
import Store
import Twitter

/// Twitter: access tokens of OAuth 1.0a, which count towards our consumer keys alone.
enum TwitterProvider: IdentityProvider {
    static let name = ProviderName.twitter
    static let title = "Twitter"
    static let fields = ProfileFields.twitter
    static let appTerms = AppTerms(
        id: "consumerKey",
        secret: "consumerSecret",
        secretTitle: "the consumer secret",
        idRule: "must be a text of 1 to 64 letters, digits, - or _",
        isID: { text in
            (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
        }
    )
    static let optionNames: [String] = []
    static let secretOptions: [SecretOption] = []
    static let exportedOptions: [String] = []

    static func options(
        in object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> JSONValue { .object([:]) }

    static func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {}

    static func settings(
        enabled: Bool,
        options: JSONValue,
        secrets: [String: Secret],
        apps: [ProviderApp]
    ) throws(DocumentProblems) -> any ProviderSettings {
        TwitterSettings(enabled: enabled, apps: apps)
    }

    static func endings(in settings: any ProviderSettings, on day: CalendarDate) -> [String] { [] }

    static func warnings(
        about stored: StoredApplication.Provider,
        of application: ApplicationID,
        in administration: Administration
    ) -> [String] { [] }

    static func check(
        _ app: ProviderApp,
        of stored: StoredApplication.Provider,
        application: ApplicationID,
        inSchema schema: String,
        in administration: Administration
    ) async -> AppVerdict {
        do throws(Failure) {
            try await administration.clients.twitter.checkConsumer(
                consumerKey: app.id.text,
                consumerSecret: app.secret,
                application: application,
                deadline: .now + Administration.providerPatience
            )
            return AppVerdict()
        } catch {
            return AppVerdict(problem: (error.message, error.reason))
        }
    }

    static func preview(
        _ credential: CredentialFields,
        of loaded: LoadedApplication,
        appID: String?,
        mapping: CompiledMapping,
        in administration: Administration
    ) async throws(Failure) -> VerifiedPerson {
        try await administration.clients.twitter.prove(
            try TwitterCredential(credential),
            by: try loaded.apps(of: name, appID: appID),
            application: loaded.application.id,
            deadline: .now + Administration.providerPatience
        )
    }

    static func prove(_ attempt: LoginAttempt, in federation: Federation) async throws(Failure) -> ProvedLogin {
        let credential = try TwitterCredential(attempt.request.credential)
        let apps = try attempt.loaded.apps(of: name, appID: attempt.request.appID)
        let plan = try attempt.loaded.plan(for: name, clientMapping: attempt.request.mapping)
        let person = try await federation.clients.twitter.prove(
            credential,
            by: apps,
            application: attempt.loaded.application.id,
            deadline: attempt.providerDeadline
        )
        return .repeatable(Proof(person: person, profile: AdmittedProfile(person.profile, by: fields)), plan)
    }
}

extension ProviderName {
    package static let twitter = ProviderName(known: "twitter")
}

/// How an application talks to Twitter.
struct TwitterSettings: ProviderSettings {
    let enabled: Bool
    let apps: [ProviderApp]

    /// A token of Twitter's has no end that a check could find, and no permission of ours that could be given up.
    var tokenKeeping: TokenKeeping? { nil }
}

extension TwitterClient {
    /// Asks by each consumer key in turn whose the token is; one that counts towards none of ours proves nothing.
    fileprivate func prove(
        _ credential: TwitterCredential,
        by apps: [ProviderApp],
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> VerifiedPerson {
        var refusal = Failure(
            .credentialInvalid,
            "The access token counts towards no consumer key of this application."
        )
        for app in apps {
            do throws(Failure) {
                let user = try await verifyCredentials(
                    accessToken: credential.token,
                    accessTokenSecret: credential.secret,
                    consumerKey: app.id.text,
                    consumerSecret: app.secret,
                    application: application,
                    deadline: deadline
                )
                return VerifiedPerson(
                    // Subjects are the same whichever consumer key asks: one that is replaced keeps its people.
                    identity: IdentityKey(provider: .twitter, app: .global, subject: user.subject),
                    profile: user.profile,
                    scopes: [],
                    scopesAreListed: false,
                    dataAccessExpiresAt: nil
                )
            } catch {
                guard error.reason == .credentialInvalid else { throw error }
                refusal = error
            }
        }
        throw refusal
    }
}
