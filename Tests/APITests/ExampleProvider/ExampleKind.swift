import Description
import Domain
import Encodings
import Mapping
import Providers

/// A provider kind that the service does not have, written as docs/architecture.md says.
///
/// Example is an OAuth server that introspects access tokens.
struct ExampleKind: ProviderKind {
    let client: ExampleClient

    let name = ProviderName(known: "example")
    let title = "Example"
    let fields = ProfileFields(of: "Example", ["sub": (nil, .text), "name": (nil, .text), "email": (nil, .email)])
    let appTerms = AppTerms(
        id: ("clientId", "Client id", "The client id; no id twice."),
        TextRule("must be a text of 1 to 64 small letters", pattern: "^[a-z]{1,64}$") { text in
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIILowercase)
        },
        secret: ("clientSecret", "Client secret", "The client secret."),
        called: "the client secret"
    )
    let secretOptions: [SecretOption] = []
    let exportedOptions: [String] = []

    /// The options of a provider of this kind, beside its apps.
    struct Options: ProviderOptions {
        var audience: String?

        static let description = ObjectDescription(
            Options(),
            unknown: "is not an option",
            [
                Field(
                    "audience",
                    \.audience,
                    Codec.text(TextRule("must be a text", schema: [:]) { _ in nil }).orNull,
                    "Audience",
                    "For whom tokens must be; null takes tokens for anybody."
                )
            ]
        )
    }

    func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        ExampleProvider(
            name: setup.name,
            title: title,
            fields: fields,
            isEnabled: setup.isEnabled,
            apps: setup.apps,
            audience: try Options(setup.options).audience,
            client: client
        )
    }
}

struct ExampleProvider: CredentialVerifying {
    let name: ProviderName
    let title: String
    let fields: ProfileFields
    let isEnabled: Bool
    let apps: [ProviderApp]
    /// The audience that tokens must have; nil accepts any audience.
    let audience: String?
    let client: ExampleClient

    func authenticate(
        by credential: CredentialFields,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let person = try await preview(credential, question)
        return AuthenticationResult(verified: person, profile: AdmittedProfile(person.profile, by: fields))
    }

    func preview(
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        guard let token = credential.accessToken, !token.isEmpty else {
            throw Failure(.credentialMissing, "Send accessToken as Example gave it.")
        }
        // Example always returns the whole profile; a wrong mapping must fail the login all the same.
        _ = try question.fields()
        let answer = try await client.introspect(
            Secret(token),
            as: try app(named: question.appID),
            deadline: question.deadline
        )
        guard answer["active"]?.bool == true, let subject = answer["sub"]?.string.flatMap({ Subject($0) }),
            audience == nil || audience == answer["aud"]?.string
        else { throw Failure(.credentialInvalid, "Example vouches for nobody by this access token.") }
        return VerifiedIdentity(
            identity: IdentityKey(provider: name, app: .global, subject: subject),
            profile: JSONObject(answer.members.filter { fields.names.contains($0.key) }),
            scopes: [],
            scopesAreListed: false,
            dataAccessExpiresAt: nil
        )
    }
}
