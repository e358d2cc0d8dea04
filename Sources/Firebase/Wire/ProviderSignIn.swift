import Applications
import Crypto
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// A call of `accounts:signInWithIdp`: a provider's credential, which logs in or is linked (docs/protocols/firebase.md
/// §4).
struct ProviderSignIn {
    static let kind = "VerifyAssertionResponse"

    /// The proof that the user has the identity.
    private enum Proof {
        case credential(CredentialFields)
        /// The login code with which a dialog of this service ended, and the `sessionId` that belongs to it.
        case code(String, session: String)
    }

    let fields: CallFields
    private let providerID: String
    private let provider: ProviderName
    private let proof: Proof
    /// The pending login that the client links after `needConfirmation`, sent as an access token; nil for none.
    let pendingLogin: String?
    /// The nonce that the client sent: the client needs it to send the credential again.
    private let rawNonce: String?

    /// Reads a call.
    ///
    /// - Throws: `INVALID_IDP_RESPONSE`, `INVALID_CREDENTIAL_OR_PROVIDER_ID`, `MISSING_REQUEST_URI` and similar errors.
    init(_ fields: CallFields, in application: ServedApplication) throws(Failure) {
        self.fields = fields
        guard let uri = try fields.filled("requestUri") else {
            throw .google("MISSING_REQUEST_URI", "Send requestUri, such as http://localhost.")
        }
        let session = try fields.filled("sessionId")
        let answer = LenientQuery(Self.query(of: uri))
        let code = session == nil ? nil : answer["code"] ?? answer["loginCode"]
        guard code != nil || uri.hasPrefix("http://") || uri.hasPrefix("https://") else {
            throw .google("INVALID_REQUEST_URI", "requestUri must be an http or https URL.")
        }
        // The SDK for the web begins the form with an ampersand.
        let text = try fields.filled("postBody").map { $0.hasPrefix("&") ? String($0.dropFirst()) : $0 }
        guard let text = text ?? code.map({ _ in "" }) else {
            throw .google("INVALID_CREDENTIAL_OR_PROVIDER_ID", "Send the provider's credential as postBody.")
        }
        // The SDK for iOS does not percent-encode the form, which has the user's name after a login by Apple. So only
        // the fields that count here must be encoded.
        let form = EncodedPair.read(text, max: 64)
        func value(_ name: String) throws(Failure) -> String? {
            let found = form.filter { $0.name?.hasSameBytes(as: name) == true }
            guard found.count <= 1, !found.contains(where: { $0.value == nil }) else {
                throw .google("INVALID_CREDENTIAL_OR_PROVIDER_ID", "postBody must have \(name) once, and encoded.")
            }
            return found.first?.value.flatMap { $0.utf8.isEmpty ? nil : $0 }
        }
        let named = try value("providerId") ?? answer["providerId"] ?? session.flatMap(DialogSession.providerID)
        guard let id = named else {
            throw .google("INVALID_CREDENTIAL_OR_PROVIDER_ID", "postBody must name the provider as providerId.")
        }
        let provider = try application.provider(id)
        (providerID, self.provider) = (id, provider)
        if let code, let session {
            (proof, rawNonce, pendingLogin) = (.code(code, session: session), nil, nil)
            return
        }
        let nonce = try value("nonce")
        let given = try value("access_token")
        // Facebook's access tokens have no dot. An ID token in their place needs its nonce all the same.
        let isIDToken = provider.text == "facebook" && given?.utf8.contains(UInt8(ascii: ".")) == true
        let idToken = try value("id_token") ?? (isIDToken ? given : nil)
        // Facebook's Limited Login always has a nonce, and without the check a copied token would log in.
        guard idToken == nil || nonce != nil || provider.text != "facebook" else {
            throw .google("MISSING_OR_INVALID_NONCE", "Send the raw nonce of the login as nonce.")
        }
        rawNonce = nonce
        pendingLogin = given.flatMap {
            $0.hasPrefix(Self.pendingPrefix) ? String($0.dropFirst(Self.pendingPrefix.count)) : nil
        }
        // The apps of these providers put the hash of the nonce into the token. Whoever has the token knows the claim,
        // so the claim itself does not count as a nonce.
        let isHashed = Self.hashesNonces(provider)
        // Google's clients may send both. The ID token is the one that names our client.
        proof = .credential(
            CredentialFields(
                accessToken: idToken == nil ? given : nil,
                accessTokenSecret: try value("oauth_token_secret"),
                idToken: idToken,
                nonce: isHashed ? nonce.map { Hexadecimal.encode(SHA256.hash(data: Array($0.utf8))) } : nonce
            )
        )
    }

    /// The beginning of a pending login that is sent as an access token.
    private static let pendingPrefix = "pending-"

    /// Returns the query of a URL; nil if it has none.
    private static func query(of url: String) -> String? {
        let beforeFragment = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        return beforeFragment.firstIndex(of: UInt8(ascii: "?")).map {
            String(Substring(beforeFragment[beforeFragment.index(after: $0)...]))
        }
    }

    private var credential: CredentialFields {
        switch proof {
        case .credential(let credential): credential
        case .code(let code, let session): CredentialFields(codeVerifier: session, loginCode: code)
        }
    }

    /// Returns the login, or the link, that the call asks for.
    ///
    /// - Parameters:
    ///   - ifUnknown: What a login does if no user has the identity.
    ///   - context: The context of the request.
    /// - Returns: The request.
    func request(_ ifUnknown: UnknownIdentity = .asConfigured, by context: APIContext) -> LoginRequest {
        LoginRequest(
            provider: provider,
            credential: credential,
            mapping: nil,
            appID: nil,
            previousSession: nil,
            client: context.refreshingClient,
            ifUnknown: ifUnknown
        )
    }

    /// Adds the members that tell of the user at the provider.
    ///
    /// - Parameters:
    ///   - json: The response.
    ///   - verified: The user as the provider described them.
    func addMembers(to json: inout JSONObject, of verified: VerifiedIdentity?) {
        json.append("providerId", .string(providerID))
        if let verified { json.append(verified, of: provider) }
        // The SDKs make a credential of these. Only what the call brought is repeated.
        for (name, text) in [
            ("oauthAccessToken", credential.accessToken), ("oauthIdToken", credential.idToken),
            ("oauthTokenSecret", credential.accessTokenSecret), ("nonce", rawNonce),
        ] {
            if let text { json.append(name, .string(text)) }
        }
    }

    /// Returns the response to a failure that is no error for the SDKs; nil for the others.
    ///
    /// - Throws: The failure under the name that the SDKs expect in this call.
    func response(to failure: Failure) throws(Failure) -> Response? {
        let isLink = fields.has("idToken")
        switch failure.reason {
        case .accountExists where !isLink:
            // The client logs in to the account by another method, and then links this credential.
            var json = JSONObject(kind: Self.kind)
            json.append("needConfirmation", .bool(true))
            addMembers(to: &json, of: failure)
            // The code is used up. So the client gets the pending login, to link it. The SDKs make no credential
            // without an access token.
            if case .code = proof, let pending = failure.details["pending"]?.string {
                json.append("pendingToken", .string(pending))
                json.append("oauthAccessToken", .string(Self.pendingPrefix + pending))
            }
            return .google(json)
        case .identityTaken where try fields.flag("returnIdpCredential") == true:
            var json = JSONObject(kind: Self.kind)
            json.append("errorMessage", .string("FEDERATED_USER_ID_ALREADY_LINKED"))
            addMembers(to: &json, of: failure)
            return .google(json)
        case .loginUnknown:
            // USER_NOT_FOUND would log the user out who only confirms to be there.
            throw failure.named("EMAIL_NOT_FOUND", for: .loginUnknown)
        case .secondFactorRequired, .secondFactorEnrolmentRequired:
            // When it links, no client can continue a pending login.
            guard !isLink else { throw failure.named("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", for: failure.reason) }
            guard let pending = failure.pendingMembers else { return nil }
            var json = JSONObject(JSONObject(kind: Self.kind).members + pending.members)
            addMembers(to: &json, of: failure.verified)
            return .google(json)
        case .credentialInvalid where hasOtherNonce:
            throw failure.named("MISSING_OR_INVALID_NONCE", for: .credentialInvalid)
        default: return nil
        }
    }

    /// Adds the members from which the SDKs make the error's credential and address.
    private func addMembers(to json: inout JSONObject, of failure: Failure) {
        if let email = failure.verified?.profile["email"] { json.append("email", email) }
        addMembers(to: &json, of: failure.verified)
    }

    /// Whether the nonce of the call differs from the nonce of the ID token.
    ///
    /// Reads the token without verifying it, only to name the error.
    private var hasOtherNonce: Bool {
        guard let rawNonce, let parts = credential.idToken?.split(separator: "."), parts.count == 3,
            let bytes = Base64URL.decode(parts[1].utf8),
            let claims = try? JSONParser.parse(String(decoding: bytes, as: UTF8.self), limits: .request).object
        else { return false }
        let claim = claims["nonce"]?.string ?? ""
        let hash = Hexadecimal.encode(SHA256.hash(data: Array(rawNonce.utf8)))
        return !claim.hasSameBytes(as: hash) && (Self.hashesNonces(provider) || !claim.hasSameBytes(as: rawNonce))
    }

    /// Whether the apps of a provider put the hash of the nonce into the token, so that only the hash counts.
    private static func hashesNonces(_ provider: ProviderName) -> Bool {
        ["facebook", "apple"].contains(provider.text)
    }
}

extension JSONObject {
    /// Adds the members about a user at a provider.
    mutating func append(_ verified: VerifiedIdentity, of provider: ProviderName) {
        let subject = verified.identity.subject.text
        append("federatedId", .string(ProviderID.federatedID(subject, at: provider)))
        append("rawUserInfo", .string(JSONValue.object(verified.profile).text))
        for (name, member) in [("fullName", "name"), ("firstName", "first_name"), ("lastName", "last_name")] {
            if let text = verified.profile[member]?.string { append(name, .string(text)) }
        }
    }
}
