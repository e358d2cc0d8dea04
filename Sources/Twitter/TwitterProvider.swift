package import Description
package import Domain
import Encodings
package import Mapping
package import Providers

extension ProviderName {
    /// The name of the provider kind Twitter.
    ///
    /// A provider of this kind usually has the same name.
    package static let twitter = ProviderName(known: "twitter")
}

/// The provider kind for Twitter.
///
/// Its providers accept access tokens of OAuth 1.0a. Such a token is valid only together with the consumer key that it
/// was issued for.
package struct TwitterKind: ProviderKind {
    package typealias Options = NoOptions

    package let name = ProviderName.twitter
    package let title = TwitterProvider.title
    package let fields = ProfileFields.twitter
    package let subjects = SubjectRule(isDecimal: true, isGlobal: true)
    package let appTerms = AppTerms(
        id: ("consumerKey", "Consumer key", "The consumer key (API key). Each key only once."),
        TextRule(
            "must be a text of 1 to 64 letters, digits, - or _",
            pattern: "^[A-Za-z0-9_-]{1,64}$"
        ) { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-_") } },
        secret: ("consumerSecret", "Consumer secret", "The consumer secret."),
        called: "the consumer secret"
    )
    package let secretOptions: [SecretOption] = []
    package let exportedOptions: [String] = []

    private let client: TwitterClient

    package init(client: TwitterClient) {
        self.client = client
    }

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

/// A provider of the kind Twitter, as one application has configured it.
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
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let credential = try TwitterCredential(credential)
        // Twitter sends the whole profile, so the fields are not needed. But an error in the mapping must be reported.
        _ = try question.fields()
        let verified = try await verified(by: credential, question)
        return AuthenticationResult(verified: verified, profile: AdmittedProfile(verified.profile, by: fields))
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        try await verified(by: TwitterCredential(credential), question)
    }

    /// Verifies an access token with the consumer key of each of the application's apps in turn.
    ///
    /// A token that is valid with none of the keys is refused.
    private func verified(
        by credential: TwitterCredential,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        var refusal = Failure(
            .credentialInvalid,
            "The access token does not belong to a consumer key of this application."
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
                return VerifiedIdentity(
                    // A user has the same subject for every consumer key. So users keep their identities if the
                    // operator replaces a key.
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
