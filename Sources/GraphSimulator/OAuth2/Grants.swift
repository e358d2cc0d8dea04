import Crypto
import Encodings

/// The grants of all simulated authorization servers, with their codes and tokens.
struct Grants: Sendable {
    private var codes: [String: GrantedCode] = [:]
    private var tokens: [String: GrantedToken] = [:]
    private var lastNumber = 0
    /// The users who have authorized a client since they last took it back.
    private var authorizations: Set<Authorization> = []

    private struct Authorization: Hashable, Sendable {
        let server: String
        let client: String
        let subject: String

        init(_ grant: Grant) {
            (server, client, subject) = (grant.server, grant.client, grant.subject)
        }
    }

    /// Makes a grant, which has neither code nor tokens yet.
    mutating func grant(
        to client: String,
        at server: String,
        user: JSON,
        scopes: [String],
        nonce: String? = nil,
        isOfDialog: Bool
    ) -> Grant {
        lastNumber += 1
        return Grant(
            number: lastNumber,
            server: server,
            client: client,
            user: user,
            scopes: scopes,
            nonce: nonce,
            isOfDialog: isOfDialog
        )
    }

    /// Remembers that the user of a grant has authorized its client; returns whether the user had not before.
    mutating func isFirstAuthorization(_ grant: Grant) -> Bool {
        authorizations.insert(Authorization(grant)).inserted
    }

    // MARK: - Codes

    mutating func code(of grant: Grant, redirectURI: String?, challenge: String?, now: Int) -> String {
        let text = Self.text(40)
        codes[text] = GrantedCode(
            grant: grant,
            redirectURI: redirectURI,
            challenge: challenge,
            expiresAt: now + GrantedCode.lifetime
        )
        return text
    }

    /// Uses up the code of a token request, and returns its grant.
    ///
    /// Every attempt uses the code up. A second use revokes the tokens of the first one (RFC 6749 §4.1.2).
    mutating func redeem(
        _ request: GraphRequest,
        by client: String,
        at server: String,
        now: Int
    ) throws(OAuthError) -> Grant {
        guard let text = request.parameter("code") else { throw .invalidRequest("code is missing") }
        guard let code = codes[text], code.grant.server == server else { throw .invalidGrant }
        guard !code.isUsed else {
            revoke { $0.number == code.grant.number }
            throw .invalidGrant
        }
        codes[text]?.isUsed = true
        let redirectURI = request.parameter("redirect_uri").flatMap { $0.isEmpty ? nil : $0 }
        guard code.expiresAt > now, code.grant.client == client, code.redirectURI == redirectURI,
            code.challenge == request.parameter("code_verifier").map(Self.challenge)
        else { throw .invalidGrant }
        return code.grant
    }

    private static func challenge(of verifier: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
    }

    // MARK: - Tokens

    /// The tokens, the oldest first.
    var listing: [GrantedToken] { tokens.values.sorted { $0.position < $1.position } }

    /// Issues a token of a grant; `seconds` is its lifetime, or `nil` for a token without end.
    mutating func issue(
        _ kind: GrantedToken.Kind,
        of grant: Grant,
        prefix: String,
        seconds: Int?,
        now: Int
    ) -> String {
        let text = prefix + Self.text(36)
        tokens[text] = GrantedToken(
            text: text,
            kind: kind,
            position: tokens.count,
            grant: grant,
            issuedAt: now,
            expiresAt: seconds.map { now + $0 }
        )
        return text
    }

    /// Returns the token with that text, whatever its state; `nil` if the server did not issue it.
    func token(_ text: String?, at server: String) -> GrantedToken? {
        text.flatMap { tokens[$0] }.flatMap { $0.grant.server == server ? $0 : nil }
    }

    /// Returns the active access token with that text; `nil` if there is none.
    func accessToken(_ text: String?, at server: String, now: Int) -> GrantedToken? {
        guard let token = token(text, at: server), token.kind == .access, token.state(at: now) == .active else {
            return nil
        }
        return token
    }

    /// Checks the refresh token of a token request, and returns its grant.
    ///
    /// With `rotates`, the token is used up.
    mutating func refresh(
        _ request: GraphRequest,
        by client: String,
        at server: String,
        rotates: Bool,
        now: Int
    ) throws(OAuthError) -> Grant {
        guard let text = request.parameter("refresh_token") else { throw .invalidRequest("refresh_token is missing") }
        guard let token = token(text, at: server), token.kind == .refresh, token.grant.client == client,
            token.state(at: now) == .active
        else { throw .invalidGrant }
        if rotates { tokens[text]?.ending = .replaced }
        return token.grant
    }

    /// Revokes a token.
    ///
    /// With a refresh token, all tokens of its grant end, and the user's next authorization is a first one again.
    mutating func revoke(_ token: GrantedToken) {
        switch token.kind {
        case .access: tokens[token.text]?.ending = .revoked
        case .refresh:
            authorizations.remove(Authorization(token.grant))
            revoke { $0.number == token.grant.number }
        }
    }

    /// Revokes the tokens of the grants that a closure selects.
    mutating func revoke(where isSelected: (Grant) -> Bool) {
        for (text, token) in tokens where token.ending == nil && isSelected(token.grant) {
            tokens[text]?.ending = .revoked
        }
    }

    private static func text(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return TokenText.alphanumeric(count: count, using: &generator)
    }
}
