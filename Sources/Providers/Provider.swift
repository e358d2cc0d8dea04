package import Domain
import Encodings
package import Mapping

/// An identity provider, as one application has configured it.
///
/// It is created from the provider's settings and from clients for the provider's API. The protocols that a provider
/// conforms to are its capabilities.
package protocol Provider: Sendable {
    /// The operator's name for the provider. It is part of each identity.
    var name: ProviderName { get }
    /// The display name of the provider.
    var title: String { get }
    /// The fields of a profile that a mapping can read.
    var fields: ProfileFields { get }
    /// Whether users can log in with the provider.
    var isEnabled: Bool { get }
    /// The application's apps at the provider, in the order in which they are tried. Apps whose secret cannot be
    /// decrypted are left out.
    var apps: [ProviderApp] { get }
    /// The members of a failure's details that the service logs.
    ///
    /// Their values are the provider's error codes and error types, never a user's data.
    var loggedDetails: [String] { get }
}

extension Provider {
    package var loggedDetails: [String] { [] }

    /// Returns the apps for which a credential may have been issued.
    ///
    /// If the client names an app, the method returns only that app. Otherwise, it returns all apps in the operator's
    /// order.
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

    /// Requires that the application still has the app of an identity.
    ///
    /// The app of an identity whose subject is the same in every app is unknown.
    ///
    /// - Throws: `provider_not_configured`.
    package func requireApp(of identity: IdentityKey) throws(Failure) {
        if identity.app != .global { _ = try apps(named: identity.app.text) }
    }

    /// Returns the app to use for a credential that can be sent to the provider only once.
    ///
    /// If the client names an app, it is that app. Otherwise, it is the application's first app.
    ///
    /// - Throws: `provider_not_configured` if the application does not have the named app; `provider_misconfigured` if
    ///   it has no app.
    package func app(named appID: String?) throws(Failure) -> ProviderApp {
        guard let app = try apps(named: appID).first else {
            throw .unusableConfiguration(cause: "the application has no \(title) app")
        }
        return app
    }
}

extension Failure {
    /// Returns the failure of a login to an application whose configuration cannot be used.
    package static func unusableConfiguration(cause: String) -> Failure {
        Failure(
            .providerMisconfigured,
            """
            The configuration of this application is not usable. The operator must look up the cause in the service's \
            log.
            """,
            retryAfter: 60,
            cause: cause
        )
    }
}

// MARK: Credentials

/// A provider that verifies credentials.
package protocol CredentialVerifying: Provider {
    /// Verifies the credential that a login request contains.
    ///
    /// - Parameters:
    ///   - credential: The members of the request that may hold a credential.
    ///   - question: The parameters of the verification.
    ///   - claim: Marks a single-use credential as used, just before the service sends it to the provider. The
    ///     arguments are the SHA-256 of the credential and the seconds for which the mark must last. Returns whether
    ///     this is the first use.
    /// - Returns: The verified user.
    /// - Throws: The reason why the credential is refused. If the provider does not know a field, `mapping_invalid`
    ///   with `field` in its details.
    func authenticate(
        by credential: CredentialFields,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult

    /// Verifies a credential for an operator's preview of a mapping, and does not use up the credential.
    func preview(_ credential: CredentialFields, _ question: VerificationRequest) async throws(Failure)
        -> VerifiedIdentity
}

/// The parameters for verifying a credential.
package struct VerificationRequest: Sendable {
    /// The app that the credential is for; nil when the client names none.
    package let appID: String?
    /// Returns the fields of the profile that the mapping reads, in the syntax of Facebook's Graph API.
    ///
    /// The closure is called only after the form of the credential has been checked.
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

/// A verified user, and what the service knows about the credential.
///
/// The type is a class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class AuthenticationResult: Sendable {
    package let verified: VerifiedIdentity
    /// The user's profile, without values that break the rules for length, characters or form.
    package let profile: AdmittedProfile
    /// The e-mail address in the profile, if the provider is authoritative for it and confirms it; nil otherwise
    /// (decision D6).
    package let confirmedAddress: String?
    /// The token with which the service read the profile; nil if there is none.
    ///
    /// The service stores it if the application keeps tokens.
    package let token: ProviderToken?
    /// The single-use credential that the login must mark as used; nil for a credential that may be used again.
    package let singleUse: SingleUseCredential?
    /// Whether the provider can verify the same credential again.
    ///
    /// If not, the service uses this result again when it must repeat the write of the login.
    package let isRepeatable: Bool

    package init(
        verified: VerifiedIdentity,
        profile: AdmittedProfile,
        confirmedAddress: String? = nil,
        token: ProviderToken? = nil,
        singleUse: SingleUseCredential? = nil,
        isRepeatable: Bool = true
    ) {
        self.verified = verified
        self.profile = profile
        self.confirmedAddress = confirmedAddress
        self.token = token
        self.singleUse = singleUse
        self.isRepeatable = isRepeatable
    }

    /// Returns a copy that contains the permissions which the user declined in the provider's dialog.
    package func declining(_ scopes: [String]?) -> AuthenticationResult {
        var verified = verified
        verified.declinedScopes = scopes
        return AuthenticationResult(
            verified: verified,
            profile: profile,
            confirmedAddress: confirmedAddress,
            token: token,
            singleUse: singleUse,
            isRepeatable: isRepeatable
        )
    }
}

/// A single-use credential that is verified without a request to the provider.
package struct SingleUseCredential: Sendable {
    /// The SHA-256 that identifies the credential, such as that of an ID token's signed bytes.
    package let digest: [UInt8]
    /// The time, in Unix seconds, at which the provider issued the credential.
    package let issuedAt: Int64
    /// The number of seconds from the verification until the credential expires.
    package let seconds: Int64
    /// The nonce in the credential, if only a nonce that this service issued is accepted; nil otherwise.
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

/// A provider whose ID tokens can contain a nonce that this service issued.
package protocol NonceBinding: CredentialVerifying {}

/// A provider at which a client can get an access token for the account on its device (Twitter's reverse auth).
///
/// The client first needs parameters that only a request with the app's secret returns. The service sends this request.
package protocol ReverseAuthorizing: Provider {
    /// Fetches the parameters that the client sends to the provider to get an access token.
    ///
    /// - Returns: The consumer key, and the parameters.
    func reverseAuthorization(
        appID: String?,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (consumerKey: String, parameters: String)
}

// MARK: Checks

/// A provider that can check an app's id and secret.
package protocol AppChecking: Provider {
    func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict
}

/// A provider at which the service can see whether a login dialog would open with a redirect URI.
package protocol DialogChecking: DialogOffering {
    /// Returns a warning about the redirect URI of an app; nil if nothing speaks against it.
    func warning(
        about redirectURI: String,
        of app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async -> String?
}

/// A provider that can check whether the fields that a mapping reads exist.
package protocol FieldChecking: Provider {
    /// Requests fields of a user, and discards their values. The user must have logged in with the app.
    ///
    /// - Parameters:
    ///   - fields: The fields in the form of `VerificationRequest`.
    ///   - subject: A user of the app.
    ///   - app: The app whose credentials are used.
    ///   - deadline: The moment at which the check must be done.
    /// - Returns: The fields that do not exist, as the provider says.
    /// - Throws: The reason why the check failed.
    func unknownFields(
        among fields: String,
        of subject: Subject,
        asking app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]
}

/// The result of checking an app's id and secret with the provider.
package struct AppVerdict: Sendable {
    package var name: String?
    /// The problem, as a text for the operator and as a reason; nil if there is none.
    package var problem: (text: String, reason: Failure.Reason)?
    /// The version of the provider's API that sent the response.
    package var answeredVersion: String?
    /// Warnings for the operator about an app whose id and secret are right.
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

/// A provider that can warn about settings that are valid but outdated or unsafe.
package protocol SettingsReviewing: Provider {
    /// Returns warnings about settings that the provider no longer supports, or will soon no longer support, such as an
    /// old API version.
    ///
    /// An unknown API version causes a warning, too.
    func endings(on day: CalendarDate) -> [String]
    /// Returns warnings about the settings. They depend on the day, and on the provider's responses to this instance.
    func warnings(on day: CalendarDate) -> [String]
}
