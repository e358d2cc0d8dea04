import Applications
import Domain
import Encodings
import HTTP
import Logins

/// The tokens of Firebase's clients: ID tokens, which this service signs, and refresh tokens.
///
/// An ID token names a session (`jti`), and every call looks that session up. So a logout, a ban or a new password
/// takes effect here at once. The application's other services accept the token until it expires, after an hour at
/// most.
struct IDTokens: Sendable {
    let tokens: TokenIssuer
    let refreshTokens: RefreshTokens
    let sessions: Sessions
    let clock: WallClock

    /// The life of an ID token in seconds.
    ///
    /// The SDKs expect an hour (docs/protocols/firebase.md §8).
    static let seconds: Int64 = 3600

    /// The tokens of a session, as responses have them.
    struct Pair: Sendable {
        let idToken: Secret
        let refreshToken: Secret
        let facts: SessionFacts
        let account: Account
    }

    /// Makes the tokens of a valid session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - endsOthers: Whether earlier refresh tokens of the session end.
    ///   - application: The application.
    /// - Returns: The tokens.
    /// - Throws: `session_invalid`, `account_disabled`; `store_unavailable` and similar errors.
    func open(
        _ session: SessionKey,
        endingOthers endsOthers: Bool = false,
        in application: ServedApplication
    ) async throws(Failure) -> Pair {
        try await pair(
            of: try await refreshTokens.open(of: session, endingOthers: endsOthers, in: application.loaded),
            in: application
        )
    }

    /// Makes the tokens of the session that a login has opened.
    ///
    /// - Throws: As `open(_:endingOthers:in:)`.
    func open(_ signedIn: LoginResult, in application: ServedApplication) async throws(Failure) -> Pair {
        guard let refreshed = signedIn.refreshed else { return try await open(signedIn.token.key, in: application) }
        return try await pair(of: refreshed, in: application)
    }

    /// Uses a refresh token.
    ///
    /// - Throws: `INVALID_REFRESH_TOKEN` for a text that is none; `session_invalid` if the session has ended;
    ///   `account_disabled`; `store_unavailable` and similar errors.
    func refresh(_ refreshToken: String, in application: ServedApplication) async throws(Failure) -> Pair {
        let refreshed: RefreshedSession
        do throws(Failure) { refreshed = try await refreshTokens.refresh(refreshToken, in: application.loaded) } catch {
            throw error.named("INVALID_REFRESH_TOKEN", for: .credentialInvalid)
        }
        return try await pair(of: refreshed, in: application)
    }

    private func pair(
        of session: RefreshedSession,
        in application: ServedApplication
    ) async throws(Failure) -> Pair {
        let account = Account(session.facts.account, in: application)
        let claims = IDTokenClaims(session.facts, account, in: application, now: clock.seconds)
        return Pair(
            idToken: try await tokens.sign(claims.json, by: .rs256, for: application.loaded),
            refreshToken: session.refreshToken,
            facts: session.facts,
            account: account
        )
    }

    /// Returns the session that a call's ID token names.
    ///
    /// The token is verified, and the session may have ended.
    ///
    /// - Throws: `MISSING_ID_TOKEN` without a token, `INVALID_ID_TOKEN` for one that is none of this application.
    func session(of fields: CallFields, in application: ServedApplication) async throws(Failure) -> SessionKey {
        try await verified(fields, in: application).session
    }

    /// Verifies a call's ID token, and returns its claims and the session that it names.
    private func verified(
        _ fields: CallFields,
        in application: ServedApplication
    ) async throws(Failure) -> (session: SessionKey, claims: JSONObject) {
        guard let text = try fields.filled("idToken") else {
            throw .google("MISSING_ID_TOKEN", "Send the ID token of the user as idToken.")
        }
        let claims = try await tokens.claims(of: Secret(text), by: .rs256, in: application.loaded)
        guard let claims,
            let session = IDTokenClaims.session(in: claims, of: application.projectID, now: clock.seconds)
        else {
            throw .google(
                "INVALID_ID_TOKEN",
                "This is no ID token of this project, or it has expired. Refresh it, or log in again."
            )
        }
        return (session, claims)
    }

    /// Makes a session cookie of a call's ID token (docs/protocols/firebase.md §10).
    ///
    /// - Throws: As `facts(of:in:)`; `INVALID_DURATION`.
    func sessionCookie(of fields: CallFields, in application: ServedApplication) async throws(Failure) -> Secret {
        let seconds = try fields.text("validDuration").flatMap { Int64($0) }
        guard let seconds, (300...1_209_600).contains(seconds) else {
            throw .google("INVALID_DURATION", "validDuration must be 300 to 1209600 seconds.")
        }
        let (session, claims) = try await verified(fields, in: application)
        _ = try await sessions.facts(of: session, in: application.loaded)
        return try await tokens.sign(
            IDTokenClaims.cookie(of: claims, in: application, now: clock.seconds, seconds: seconds),
            by: .rs256,
            for: application.loaded
        )
    }

    /// Returns the valid session that a call's ID token names.
    ///
    /// - Throws: As `session(of:in:)`; `session_invalid`, `account_disabled`.
    func facts(of fields: CallFields, in application: ServedApplication) async throws(Failure) -> SessionFacts {
        try await sessions.facts(of: try await session(of: fields, in: application), in: application.loaded)
    }

    /// Returns the user of the valid session that a call's ID token names, with everything that the user sees.
    ///
    /// - Throws: As `facts(of:in:)`.
    func account(of fields: CallFields, in application: ServedApplication) async throws(Failure) -> AccountDetails {
        try await sessions.account(of: try await session(of: fields, in: application), in: application.loaded)
    }
}

/// The claims of an ID token (docs/protocols/firebase.md §8).
struct IDTokenClaims {
    let json: JSONObject

    init(_ facts: SessionFacts, _ account: Account, in application: ServedApplication, now: Int64) {
        let id = JSONValue.string(account.id)
        var claims: JSONObject = [
            "iss": .string(Self.issuer(of: application.projectID)), "aud": .string(application.projectID),
            "sub": id, "user_id": id, "iat": .integer(now), "exp": .integer(now + IDTokens.seconds),
            // A session that a server opened has no authentication. Firebase counts the server's login as one.
            "auth_time": .integer(facts.authenticatedAt > 0 ? facts.authenticatedAt : facts.opened),
            "jti": .string(Self.id(of: facts.key)),
        ]
        for (name, value) in [
            ("name", account.displayName), ("picture", account.photoURL), ("email", account.email),
            ("phone_number", account.phoneNumber),
        ] {
            if let value { claims.append(name, .string(value)) }
        }
        if account.email != nil { claims.append("email_verified", .bool(facts.user.emailVerified)) }
        if facts.user.status == .guest { claims.append("provider_id", .string("anonymous")) }
        claims.append("firebase", .object(Self.firebase(facts, account)))
        // Claims of the token that opened the session come before claims of the user.
        for custom in [facts.claims, facts.account.claims] {
            guard let object = custom.flatMap(CustomClaims.json) else { continue }
            for member in object.members where claims[member.key] == nil { claims.append(member.key, member.value) }
        }
        json = claims
    }

    /// Returns the claims of a session cookie: the ID token's, with an issuer and times of the cookie's own.
    ///
    /// The claims name no session, so a cookie never counts as an ID token.
    static func cookie(
        of claims: JSONObject,
        in application: ServedApplication,
        now: Int64,
        seconds: Int64
    ) -> JSONObject {
        let own: JSONObject = [
            "iss": .string("https://session.firebase.google.com/\(application.projectID)"), "iat": .integer(now),
            "exp": .integer(now + seconds),
        ]
        return JSONObject(own.members + claims.members.filter { own[$0.key] == nil && $0.key != "jti" })
    }

    private static func firebase(_ facts: SessionFacts, _ account: Account) -> JSONObject {
        var identities: [JSONObject.Member] = []
        if let email = account.email { identities.append(.init("email", .array([.string(email)]))) }
        if let phone = account.phoneNumber { identities.append(.init("phone", .array([.string(phone)]))) }
        for identity in facts.account.identities {
            let id = ProviderID.id(of: identity.provider.text)
            guard !identities.contains(where: { $0.key.hasSameBytes(as: id) }) else { continue }
            let subjects = facts.account.identities.filter { $0.provider == identity.provider }
            identities.append(.init(id, .array(subjects.map { .string($0.subject.text) })))
        }
        var firebase: JSONObject = [
            "identities": .object(JSONObject(identities)), "sign_in_provider": .string(signInProvider(facts)),
        ]
        if let factor = facts.factor {
            firebase.append("sign_in_second_factor", .string(factor == .sms ? "phone" : "totp"))
        }
        return firebase
    }

    private static func signInProvider(_ facts: SessionFacts) -> String {
        guard facts.user.status != .guest else { return "anonymous" }
        // A session that a server opened has the method `password` and no authentication.
        guard facts.authenticatedAt > 0 else { return "custom" }
        // The session of a former guest has no method. The newest login method made the guest a user.
        let method = facts.method ?? facts.account.identities.last?.provider.text ?? ProviderName.password.text
        return ProviderID.id(of: method)
    }

    /// Returns the claim `jti`: the hash of the session, and random bytes.
    ///
    /// Without the random bytes, two tokens of one second would be equal. The SDK for the web ignores a response with
    /// an ID token that it already has, and would keep a refresh token that has ended.
    private static func id(of session: SessionKey) -> String {
        Base64URL.encode(session.hash + RandomSource.system.bytes(8))
    }

    private static func issuer(of projectID: String) -> String { "https://\(Firebase.issuerHost)/\(projectID)" }

    /// Returns the session that verified claims name; nil if they are of another project, or have expired.
    static func session(in claims: JSONObject, of projectID: String, now: Int64) -> SessionKey? {
        func has(_ name: String, _ value: String) -> Bool { claims[name]?.string?.hasSameBytes(as: value) == true }
        guard has("iss", issuer(of: projectID)), has("aud", projectID),
            let end = claims["exp"]?.integer, end > now,
            let id = claims["jti"]?.string.flatMap({ Base64URL.decode($0.utf8) }), id.count == 40
        else { return nil }
        return SessionKey(hash: Array(id.prefix(32)))
    }
}
