package import Description
package import Domain
package import Encodings
package import Mapping
package import Providers

extension ProviderName {
    /// The name of the provider kind, and the usual name of a provider of that kind.
    package static let twitter = ProviderName(known: "twitter")
}

/// The provider kind for Twitter.
///
/// It accepts access tokens of OAuth 1.0a, which are valid only with our consumer keys.
package struct TwitterKind: ProviderKind {
    package let name = ProviderName.twitter
    package let title = TwitterProvider.title
    package let fields = ProfileFields.twitter
    package let subjects = SubjectRule(isDecimal: true, isGlobal: true)
    package let appTerms = AppTerms(
        id: ("consumerKey", "Consumer key", "The consumer key (API key); no key twice."),
        TextRule(
            "must be a text of 1 to 64 letters, digits, - or _",
            pattern: "^[A-Za-z0-9_-]{1,64}$"
        ) { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-_") } },
        secret: ("consumerSecret", "Consumer secret", "The consumer secret."),
        called: "the consumer secret"
    )
    package let optionShape = ObjectShape()
    package let secretOptions: [SecretOption] = []
    package let exportedOptions: [String] = []

    private let client: TwitterClient

    package init(client: TwitterClient) {
        self.client = client
    }

    package func options(
        in object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> JSONValue { .object([:]) }

    package func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {}

    package func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        TwitterProvider(
            name: setup.name,
            application: setup.application,
            isEnabled: setup.isEnabled,
            apps: setup.apps,
            client: client
        )
    }
}

extension TwitterKind: UpstreamKind {
    package static var variables: [any DeclaredVariable] { TwitterVariables.all }

    package static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup? {
        guard let configuration = TwitterConfiguration(&settings) else { return nil }
        return UpstreamSetup(usesTLS: configuration.usesTLS) { parts in
            TwitterKind(
                client: TwitterClient(
                    curl: parts.curl,
                    configuration: configuration,
                    clock: parts.clock,
                    random: parts.random
                )
            )
        }
    }
}

/// The provider Twitter of one application.
package struct TwitterProvider: Provider {
    package let name: ProviderName
    let application: ApplicationID
    package let isEnabled: Bool
    package let apps: [ProviderApp]
    let client: TwitterClient

    static let title = "Twitter"

    package var title: String { Self.title }
    package var fields: ProfileFields { .twitter }
    package var loggedDetails: [String] { ["twitterCode"] }
}

extension TwitterProvider: CredentialVerifying {
    package func authenticate(
        by credential: CredentialFields,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let credential = try TwitterCredential(credential)
        // Twitter sends the whole profile, but an error in the mapping is reported all the same.
        _ = try question.fields()
        let person = try await person(by: credential, question)
        return AuthenticationResult(person: person, profile: AdmittedProfile(person.profile, by: fields))
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: ProviderQuestion
    ) async throws(Failure) -> VerifiedPerson {
        try await person(by: TwitterCredential(credential), question)
    }

    /// Verifies a token with each consumer key in turn; a token that is valid with none of them is refused.
    private func person(
        by credential: TwitterCredential,
        _ question: ProviderQuestion
    ) async throws(Failure) -> VerifiedPerson {
        var refusal = Failure(
            .credentialInvalid,
            "The access token counts towards no consumer key of this application."
        )
        for app in try apps(named: question.appID) {
            do throws(Failure) {
                let user = try await client.verifyCredentials(
                    accessToken: credential.token,
                    accessTokenSecret: credential.secret,
                    consumerKey: app.id.text,
                    consumerSecret: app.secret,
                    application: application,
                    deadline: question.deadline
                )
                return VerifiedPerson(
                    // Subjects are the same for every consumer key, so users keep their identities when a key is
                    // replaced.
                    identity: IdentityKey(provider: name, app: .global, subject: user.subject),
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

extension TwitterProvider: AppChecking {
    package func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict {
        do throws(Failure) {
            try await client.checkConsumer(
                consumerKey: app.id.text,
                consumerSecret: app.secret,
                application: application,
                deadline: deadline
            )
            return AppVerdict()
        } catch {
            return AppVerdict(problem: (error.message, error.reason))
        }
    }
}

extension TwitterProvider: ReverseAuthorizing {
    package func reverseAuthorization(
        appID: String?,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (consumerKey: String, parameters: String) {
        let app = try app(named: appID)
        let parameters = try await client.reverseAuthParameters(
            consumerKey: app.id.text,
            consumerSecret: app.secret,
            application: application,
            deadline: deadline
        )
        return (app.id.text, parameters)
    }
}
