import FoundationEssentials
import Graph
import Vocabulary
import Mapping
import Store
import Verification

/// Facebook: access tokens, authorization codes, ID tokens of Limited Login, and the codes that our own dialog gives out.
enum FacebookProvider: IdentityProvider {
    static let name = ProviderName.facebook
    static let title = "Facebook"
    static let fields = ProfileFields.facebook
    static let appTerms = AppTerms(
        id: "appId",
        secret: "appSecret",
        secretTitle: "the app secret",
        configID: "configId",
        idRule: "must be a text of \(FacebookID.form)",
        isID: FacebookID.isValid
    )
    static let optionNames = FacebookOptionsDocument.names
    static let secretOptions = [verifyToken]
    static let exportedOptions = [FacebookOptionsDocument.graphVersion]

    /// What Facebook repeats when it sets up the webhook.
    private static let verifyToken = SecretOption(
        name: "webhookVerifyToken",
        title: "the verify token",
        variable: "WEBHOOK_VERIFY_TOKEN",
        bytes: 16...128
    )

    static func options(
        in object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> JSONValue {
        FacebookOptionsDocument.document(
            of: FacebookOptionsDocument.read(object, at: place, problems: &problems)
        )
    }

    static func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        guard let options = try? FacebookOptionsDocument.parse(options) else { return }
        let needs = [
            ("longLivedTokens", options.longLivedTokens), ("returnTokens", options.returnTokens),
            ("refreshHours", options.refreshHours != nil),
        ]
        for (name, isSet) in needs where isSet && !options.keepTokens {
            problems.add(place / name, "needs keepTokens to be true: without it no token is kept")
        }
    }

    static func settings(
        enabled: Bool,
        options: JSONValue,
        secrets: [String: Secret],
        apps: [ProviderApp]
    ) throws(DocumentProblems) -> any ProviderSettings {
        FacebookSettings(
            enabled: enabled,
            apps: apps,
            options: try FacebookOptionsDocument.parse(options),
            webhookVerifyToken: secrets[verifyToken.name]
        )
    }

    static func prove(_ attempt: LoginAttempt, in federation: Federation) async throws(Failure) -> ProvedLogin {
        let request = attempt.request
        switch try Credential(request.credential) {
        case .accessToken(let token):
            let plan = try attempt.loaded.plan(for: name, clientMapping: request.mapping)
            let proof = try await federation.prove(accessToken: token, in: attempt, mapping: plan.mapping)
            return .repeatable(proof, plan)
        case .idToken(let token, let nonce):
            let plan = try attempt.loaded.plan(for: name, clientMapping: request.mapping)
            let proof = try await federation.prove(idToken: token, nonce: nonce, in: attempt)
            return .repeatable(proof, plan)
        case .code(let code, let redirectURI, let codeVerifier):
            let plan = try attempt.loaded.plan(for: name, clientMapping: request.mapping)
            let proof = try await federation.prove(
                code: code,
                redirectURI: redirectURI,
                codeVerifier: codeVerifier,
                in: attempt,
                mapping: plan.mapping
            )
            return .usedUp(proof, mapping: request.mapping)
        case .loginCode(let code, let codeVerifier):
            // The mapping was asked for when the dialog began.
            let (proof, mapping) = try await federation.redeem(loginCode: code, codeVerifier: codeVerifier, in: attempt)
            return .usedUp(proof, mapping: mapping)
        }
    }

    static func preview(
        _ credential: CredentialFields,
        of loaded: LoadedApplication,
        appID: String?,
        mapping: CompiledMapping,
        in administration: Administration
    ) async throws(Failure) -> VerifiedPerson {
        guard case .accessToken(let token) = try Credential(credential) else {
            throw Failure(
                .credentialWrongKind,
                "A preview asks Graph for the profile, which takes an access token. Give the claims of an ID token as a sample profile."
            )
        }
        let (settings, apps) = try loaded.facebook(appID: appID)
        return try await administration.graph.prove(
            token,
            by: apps,
            settings: settings,
            mapping: mapping,
            application: loaded.application.id,
            deadline: .now + Administration.providerPatience
        )
    }
}
