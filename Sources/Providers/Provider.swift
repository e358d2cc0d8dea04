package import Domain
import Encodings
package import Mapping

/// A provider of one application: a value made from its configuration and its clients.
///
/// The protocols that the value conforms to tell its capabilities.
package protocol Provider: Sendable {
    /// The operator's name for the provider, which is part of identities.
    var name: ProviderName { get }
    /// The display name.
    var title: String { get }
    /// The fields of a profile that a mapping can read.
    var fields: ProfileFields { get }
    /// Whether users can log in with the provider.
    var isEnabled: Bool { get }
    /// The application's apps at the provider with a decryptable secret, in the order in which they are tried.
    var apps: [ProviderApp] { get }
    /// The members of a failure's details that are logged: the provider's error codes and types, never a user's data.
    var loggedDetails: [String] { get }
}

extension Provider {
    package var loggedDetails: [String] { [] }

    /// Returns the apps that a credential may be for: the app that the client names, or all in the operator's order.
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

    /// Returns the one app to use where several apps cannot be tried in turn.
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
    /// Returns the failure of logins while the configuration cannot be used.
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

/// A provider that verifies credentials.
package protocol CredentialVerifying: Provider {
    /// Verifies the one credential of a request.
    ///
    /// - Parameters:
    ///   - credential: The members of the request that may hold a credential.
    ///   - question: The parameters of the verification.
    ///   - claim: Marks a single-use credential as used, just before it is sent to the provider. The arguments are the
    ///     SHA-256 of the credential and the seconds in which it could be used again. Returns whether this is the first
    ///     use.
    /// - Returns: The verified user.
    /// - Throws: The reason why the credential is refused; `mapping_invalid` with `field` in its details for a field
    ///   that the provider does not know.
    func authenticate(
        by credential: CredentialFields,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult

    /// Verifies a credential for a preview, which does not use it up.
    func preview(_ credential: CredentialFields, _ question: ProviderQuestion) async throws(Failure) -> VerifiedPerson
}

/// The parameters of a verification.
package struct ProviderQuestion: Sendable {
    /// The app that the credential is for; nil when the client names none.
    package let appID: String?
    /// The fields that the mapping reads, in Graph's syntax; evaluated only once the form of the credential is valid.
    package let fields: @Sendable () throws(Failure) -> String
    /// The moment at which the verification must be done.
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

/// A verified user, and the properties of the credential.
///
/// A class, since a suspended login would hold a copy in the frame of each function.
package final class AuthenticationResult: Sendable {
    package let person: VerifiedPerson
    /// The valid part of the user's profile.
    package let profile: AdmittedProfile
    /// The token that the profile was read with, for an application that keeps tokens.
    package let token: ProviderToken?
    /// The single-use credential that the login consumes; nil for a credential that may be used again.
    package let singleUse: SingleUseCredential?
    /// Whether the provider can verify the credential again.
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

    /// Returns a copy with the permissions that the user declined in the dialog of the login.
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

/// A single-use credential that is verified without asking the provider.
package struct SingleUseCredential: Sendable {
    /// SHA-256 of the part that identifies the credential.
    package let digest: [UInt8]
    /// Unix seconds at which the provider issued it.
    package let issuedAt: Int64
    /// Seconds until the credential expires.
    package let seconds: Int64
    /// The nonce that must be one that the service issued; nil when no nonce is required.
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

/// A provider with a kind of credential that a client can bind to a nonce that the service issued.
package protocol NonceBinding: CredentialVerifying {}

/// A provider that lets a client obtain a token of its account, for which the app's secret is needed.
package protocol ReverseAuthorizing: Provider {
    /// Fetches the parameters that the client sends to the provider.
    ///
    /// - Returns: The consumer key, and the parameters.
    func reverseAuthorization(
        appID: String?,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (consumerKey: String, parameters: String)
}

// MARK: Checks

/// A provider that can check the id and the secret of an app.
package protocol AppChecking: Provider {
    func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict
}

/// A provider that can check whether the fields exist that a mapping reads.
package protocol FieldChecking: Provider {
    /// Requests fields of a user who has logged in with an app, and discards their values.
    ///
    /// - Parameters:
    ///   - fields: The fields in the form of `ProviderQuestion`.
    ///   - subject: A user of the app.
    ///   - app: The app whose credentials are used.
    ///   - deadline: The moment at which the check must be done.
    /// - Returns: The fields that the provider says do not exist.
    /// - Throws: The reason why the check failed.
    func unknownFields(
        among fields: String,
        of subject: Subject,
        asking app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]
}

/// The result of checking an app's id and secret.
package struct AppVerdict: Sendable {
    package var name: String?
    /// The problem, as a text for the operator and as a reason; nil when all is well.
    package var problem: (text: String, reason: Failure.Reason)?
    /// The version of the provider's API that responded.
    package var answeredVersion: String?
    /// Warnings for the operator although id and secret are right.
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

/// A provider whose settings can deserve a warning although they are valid.
package protocol SettingsReviewing: Provider {
    /// Returns texts about settings that have ended at the provider, end soon, or whose end is unknown.
    func endings(on day: CalendarDate) -> [String]
    /// Returns warnings about the settings, by the calendar and by the responses to this instance.
    func warnings(on day: CalendarDate) -> [String]
}
