import Mapping
import Providers
import Vocabulary

/// A kind of provider that the service does not have, written as docs/architecture.md says: an OAuth server that is
/// asked whose an access token is.
struct ExampleKind: ProviderKind {
    let client: ExampleClient

    let name = ProviderName(known: "example")
    let title = "Example"
    let fields = ProfileFields(of: "Example", ["sub": (nil, .text), "name": (nil, .text), "email": (nil, .email)])
    let appTerms = AppTerms(
        id: "clientId",
        secret: "clientSecret",
        secretTitle: "the client secret",
        idRule: "must be a text of 1 to 64 small letters",
        isID: { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isASCIILowercase) }
    )
    let optionNames = ["audience"]
    let secretOptions: [SecretOption] = []
    let exportedOptions: [String] = []

    func options(in object: JSONObject, at place: JSONPointer, problems: inout DocumentProblems) -> JSONValue {
        let audience = object.present("audience")
        if let audience, audience.string == nil { problems.add(place / "audience", "must be a text") }
        return .object(["audience": audience ?? .null])
    }

    func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {}

    func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        ExampleProvider(
            name: setup.name,
            title: title,
            fields: fields,
            isEnabled: setup.isEnabled,
            apps: setup.apps,
            audience: setup.options.object?["audience"]?.string,
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
    /// Whom tokens must be for; nil takes those for anybody.
    let audience: String?
    let client: ExampleClient

    func authenticate(
        by credential: CredentialFields,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        let person = try await preview(credential, question)
        return AuthenticationResult(person: person, profile: AdmittedProfile(person.profile, by: fields))
    }

    func preview(
        _ credential: CredentialFields,
        _ question: ProviderQuestion
    ) async throws(Failure) -> VerifiedPerson {
        guard let token = credential.accessToken, !token.isEmpty else {
            throw Failure(.credentialMissing, "Send accessToken as Example gave it.")
        }
        // Example gives the whole profile; a mapping that is wrong is told all the same.
        _ = try question.fields()
        let answer = try await client.introspect(
            Secret(token),
            as: try app(named: question.appID),
            deadline: question.deadline
        )
        guard answer["active"]?.bool == true, let subject = answer["sub"]?.string.flatMap({ Subject($0) }),
            audience == nil || audience == answer["aud"]?.string
        else { throw Failure(.credentialInvalid, "Example vouches for nobody by this access token.") }
        return VerifiedPerson(
            identity: IdentityKey(provider: name, app: .global, subject: subject),
            profile: JSONObject(answer.members.filter { fields.names.contains($0.key) }),
            scopes: [],
            scopesAreListed: false,
            dataAccessExpiresAt: nil
        )
    }
}
