// MARK: - ID tokens, their keys, and codes

extension GraphSimulator {
    /// Makes an ID token, right or wrong.
    /// - Throws: ``DataError`` when the person, app or key does not exist.
    public func idToken(_ request: IDTokenRequest) throws -> String {
        let token = try simulation.update { state, now throws(DataError) in
            try state.world.idToken(request, now: now)
        }
        return try token.signed()
    }

    /// Makes an ID token: `idToken(person: "ann", nonce: "n", claims: ["aud": "1", "nonce": nil])`.
    /// - Parameters:
    ///   - person: The person's key; the first person when `nil`.
    ///   - app: The app's id; the first app when `nil`.
    ///   - nonce: Echoed as it is; without one the claim is `""`.
    ///   - scopes: The permissions whose claims it carries; `nil` follows the person.
    ///   - claims: Replaces, adds and (`nil`) removes claims.
    ///   - header: Replaces, adds and (`nil`) removes members of the header.
    ///   - signature: How it is signed.
    /// - Returns: The token's text.
    /// - Throws: ``DataError`` when the person, app or key does not exist.
    public func idToken(
        person: String? = nil,
        app: String? = nil,
        nonce: String? = nil,
        scopes: [String]? = nil,
        claims: JSON = [:],
        header: JSON = [:],
        signature: IDTokenSignature = .newest
    ) throws -> String {
        try idToken(
            IDTokenRequest(
                person: person,
                app: app,
                nonce: nonce,
                scopes: scopes,
                claims: claims,
                header: header,
                signature: signature
            )
        )
    }

    /// Publishes a new key, which signs from now on, and takes the oldest out of the JWKS.
    ///
    /// Makes an RSA key, which takes some 100 ms on the caller's thread.
    /// - Returns: The new key's `kid`.
    @discardableResult
    public func rotateKeys() throws -> String {
        try simulation.rotateKeys()
    }

    /// The `kid`s of the JWKS, older one first.
    public var keys: [String] {
        simulation.update { state, _ in [state.world.keys.older.kid, state.world.keys.newer.kid] }
    }

    /// Makes an authorization code, as if somebody had been through the login dialog.
    /// - Throws: ``DataError`` when the person or app does not exist.
    public func code(_ request: CodeRequest) throws(DataError) -> String {
        try simulation.update { state, now throws(DataError) in try state.world.code(request, now: now) }
    }

    /// Makes an authorization code.
    /// - Parameters:
    ///   - person: The person's key; the first person when `nil`.
    ///   - app: The app's id; the first app when `nil`.
    ///   - redirectURI: What the exchange must repeat.
    ///   - scopes: The permissions of the token to come; `nil` follows the person.
    ///   - nonce: The nonce of the ID token to come, which `openid` among the scopes brings.
    ///   - codeChallenge: The challenge of PKCE, if the exchange is to need a verifier.
    ///   - method: How the challenge was made.
    /// - Returns: The code's text.
    /// - Throws: ``DataError`` when the person or app does not exist.
    public func code(
        person: String? = nil,
        app: String? = nil,
        redirectURI: String,
        scopes: [String]? = nil,
        nonce: String? = nil,
        codeChallenge: String? = nil,
        method: CodeChallengeMethod = .s256
    ) throws(DataError) -> String {
        try code(
            CodeRequest(
                person: person,
                app: app,
                redirectURI: redirectURI,
                scopes: scopes,
                nonce: nonce,
                codeChallenge: codeChallenge,
                codeChallengeMethod: method
            )
        )
    }
}
