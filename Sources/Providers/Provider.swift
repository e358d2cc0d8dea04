package import Mapping
package import Vocabulary

/// A provider as one application has set it up: a value made from what it uses.
///
/// What it can do besides being known is told by the protocols that it conforms to.
package protocol Provider: Sendable {
    /// What the operator calls it, and what stands in identities.
    var name: ProviderName { get }
    /// The name for people.
    var title: String { get }
    /// What a mapping can read of a person.
    var fields: ProfileFields { get }
    /// Whether people can log in by it.
    var isEnabled: Bool { get }
    /// The application's apps at the provider whose secret opens, the one asked first in front.
    var apps: [ProviderApp] { get }
    /// The details of its failures that the log has, too: its own numbers and words for errors, never of a person.
    var loggedDetails: [String] { get }
}

extension Provider {
    package var loggedDetails: [String] { [] }

    /// The apps that a credential may be for: the one that the client names, or all of them in the operator's order.
    ///
    /// - Throws: `provider_not_configured`.
    package func apps(named appID: String?) throws(Failure) -> [ProviderApp] {
        guard let appID else { return apps }
        let named = apps.filter { $0.id.text.hasSameBytes(as: appID) }
        guard !named.isEmpty else {
            throw Failure(.providerNotConfigured, "appId is not one of this application's \(title) apps.")
        }
        return named
    }

    /// The one app that is asked where it cannot be tried at one after another.
    ///
    /// - Throws: `provider_not_configured`, `provider_misconfigured`.
    package func app(named appID: String?) throws(Failure) -> ProviderApp {
        guard let app = try apps(named: appID).first else {
            throw .unusableConfiguration(cause: "the application has no \(title) app")
        }
        return app
    }
}

extension Failure {
    /// The answer to logins while the configuration cannot be used.
    package static func unusableConfiguration(cause: String) -> Failure {
        Failure(
            .providerMisconfigured,
            "This application's configuration cannot be used. Its operator finds the cause in the service's log.",
            retryAfter: 60,
            cause: cause
        )
    }
}

// MARK: Credentials

/// A provider that tells whom a credential stands for.
package protocol CredentialVerifying: Provider {
    /// Verifies the one credential of a request.
    ///
    /// - Parameters:
    ///   - credential: What the request holds by way of credentials.
    ///   - question: What is asked of the provider.
    ///   - claim: Makes a credential that counts once this login's, just before it is sent on. It gets SHA-256 of the
    ///     credential and the seconds for which it may come again, and says whether it had not come before.
    /// - Returns: Whom it stands for.
    /// - Throws: Why it does not count; `mapping_invalid` with `field` in its details for a field that the provider
    ///   does not know.
    func authenticate(
        by credential: CredentialFields,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult

    /// Verifies a credential for a preview: nothing is used up.
    func preview(_ credential: CredentialFields, _ question: ProviderQuestion) async throws(Failure) -> VerifiedPerson
}

/// What is asked of a provider about a person.
package struct ProviderQuestion: Sendable {
    /// Which of the application's apps the credential is for; nil when the client does not say.
    package let appID: String?
    /// The fields that the mapping reads, in the syntax of Graph; worked out when a credential is one, and not before.
    package let fields: @Sendable () throws(Failure) -> String
    /// When the answer is worth nothing any more.
    package let deadline: ContinuousClock.Instant

    package init(
        appID: String?,
        deadline: ContinuousClock.Instant,
        fields: @escaping @Sendable () throws(Failure) -> String
    ) {
        self.appID = appID
        self.deadline = deadline
        self.fields = fields
    }
}

/// Whom a credential stands for, and what is to be known of the credential itself.
///
/// A class, since a login that waits would have a copy in the frame of each function on its way.
package final class AuthenticationResult: Sendable {
    package let person: VerifiedPerson
    /// What of the person's profile fits.
    package let profile: AdmittedProfile
    /// The token that stands behind the profile, for an application that keeps it.
    package let token: ProviderToken?
    /// What the login uses up; nil for a credential that may be used again.
    package let singleUse: SingleUseCredential?
    /// Whether the provider can be asked about the credential again.
    package let isRepeatable: Bool

    package init(
        person: VerifiedPerson,
        profile: AdmittedProfile,
        token: ProviderToken? = nil,
        singleUse: SingleUseCredential? = nil,
        isRepeatable: Bool = true
    ) {
        self.person = person
        self.profile = profile
        self.token = token
        self.singleUse = singleUse
        self.isRepeatable = isRepeatable
    }

    /// The same with permissions that the person has declined, as the dialog of the login says.
    package func declining(_ scopes: [String]?) -> AuthenticationResult {
        var person = person
        person.declinedScopes = scopes
        return AuthenticationResult(
            person: person,
            profile: profile,
            token: token,
            singleUse: singleUse,
            isRepeatable: isRepeatable
        )
    }
}

/// A credential that counts once, which nobody has to be asked about.
package struct SingleUseCredential: Sendable {
    /// SHA-256 of what identifies it.
    package let digest: [UInt8]
    /// Unix seconds at which the provider issued it.
    package let issuedAt: Int64
    /// Seconds until it is refused for its age.
    package let seconds: Int64
    /// What must turn out to be a nonce that we gave out; nil when nothing must.
    package let serverNonce: Secret?

    package init(
        digest: [UInt8],
        issuedAt: Int64,
        seconds: Int64,
        serverNonce: Secret?
    ) {
        self.digest = digest
        self.issuedAt = issuedAt
        self.seconds = seconds
        self.serverNonce = serverNonce
    }
}

/// A provider one of whose credentials a client can bind to a nonce that we give out.
package protocol NonceBinding: CredentialVerifying {}

/// A provider that lets a client have its account's token made, for which an app's secret is needed.
package protocol ReverseAuthorizing: Provider {
    /// Fetches what the client sends to the provider.
    ///
    /// - Returns: The consumer key, and the parameters.
    func reverseAuthorization(
        appID: String?,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (consumerKey: String, parameters: String)
}

// MARK: Checks

/// A provider that can be asked whether it knows an app by its id and secret.
package protocol AppChecking: Provider {
    func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict
}

/// A provider that can be asked whether it has the fields that a mapping reads.
package protocol FieldChecking: Provider {
    /// Asks for fields of a person who has logged in by an app, and keeps nothing of what they hold.
    ///
    /// - Parameters:
    ///   - fields: As `ProviderQuestion` has them.
    ///   - subject: A person whom the app knows.
    ///   - app: The app that asks.
    ///   - deadline: When the answer is worth nothing any more.
    /// - Returns: Those that the provider says it does not have.
    /// - Throws: The reason for having no answer.
    func unknownFields(
        among fields: String,
        of subject: Subject,
        asking app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]
}

/// What a provider says of an app's id and secret.
package struct AppVerdict: Sendable {
    package var name: String?
    /// What is wrong, for people, and why; nil when all is well.
    package var problem: (text: String, reason: Failure.Reason)?
    /// The version of its API with which the provider answered.
    package var answeredVersion: String?
    /// What an operator should know of the app although nothing is wrong with its id and secret.
    package var warnings: [String] = []

    package init(
        name: String? = nil,
        problem: (text: String, reason: Failure.Reason)? = nil,
        answeredVersion: String? = nil
    ) {
        self.name = name
        self.problem = problem
        self.answeredVersion = answeredVersion
    }
}

/// A provider about whose settings there can be something to know although they are right.
package protocol SettingsReviewing: Provider {
    /// What in the settings has come to its end at the provider, or soon does, or is not known to have one.
    func endings(on day: CalendarDate) -> [String]
    /// What an operator should know about the settings, by the calendar and by what has answered this instance.
    func warnings(on day: CalendarDate) -> [String]
}
