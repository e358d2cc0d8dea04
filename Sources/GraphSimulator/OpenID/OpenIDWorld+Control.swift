/// What the control port makes without a dialog.
extension OpenIDWorld {
    /// Makes an ID token of an issuer, or another JWT, such as a logout token.
    ///
    /// The request is `{"issuer", "origin"?, "client"?, "claims"?, "nonce"?, "header"?, "key"?}`. The claims replace
    /// those of the token, and the members of the header those of its header; `null` leaves one out. With the key
    /// `other`, a key signs that the issuer does not publish.
    func token(_ json: JSON, rsa: KeyRing, now: Int) throws(DataError) -> String {
        var reader = try JSONReader(json)
        let issuer = try issuer(&reader)
        let changes = try reader.members("claims") ?? []
        let origin = try reader.string("origin")
        guard origin != nil || changes.contains(where: { $0.name == "iss" }) else {
            throw reader.failure("origin", "is missing, and so is claims.iss")
        }
        var claims = Self.claims(
            from: "\(origin ?? "")/\(issuer.server)",
            to: try reader.string("client") ?? issuer.firstClient,
            nonce: try reader.string("nonce"),
            now: now
        )
        for member in changes { claims[member.name] = member.value == .null ? Optional<JSON>.none : member.value }
        let header = try reader.anObject("header") ?? [:]
        let key: IssuerKey
        switch try reader.string("key") {
        case nil: key = keys.signing(for: issuer, rsa: rsa)
        case "other": key = keys.unpublished(for: issuer, rsa: rsa)
        default: throw reader.failure("key", "expected \"other\"")
        }
        try reader.finish()
        return try key.token(claims, header: header, by: issuer.algorithm)
    }

    /// Makes tokens as the SDK of an issuer has them in an app.
    ///
    /// The request is `{"issuer", "client"?, "user"?, "scopes"?, "seconds"?}`. A negative number of seconds makes an
    /// access token that has expired.
    mutating func accessToken(_ json: JSON, now: Int) throws(DataError) -> JSON {
        var reader = try JSONReader(json)
        let issuer = try issuer(&reader)
        let grant = try grant(&reader, by: issuer)
        let seconds = try reader.integer("seconds", in: .century) ?? Self.lifetime
        try reader.finish()
        return [
            "accessToken": .string(issueAccess(of: grant, seconds: seconds, now: now)),
            "refreshToken": .string(issueRefresh(of: grant, now: now)),
        ]
    }

    /// Makes an authorization code as the SDK of an issuer has it in an app.
    ///
    /// The request is `{"issuer", "client"?, "user"?, "scopes"?, "nonce"?, "redirectUri"?, "codeChallenge"?}`.
    mutating func code(_ json: JSON, now: Int) throws(DataError) -> JSON {
        var reader = try JSONReader(json)
        let issuer = try issuer(&reader)
        let grant = try grant(&reader, by: issuer)
        let redirectURI = try reader.string("redirectUri")
        let challenge = try reader.string("codeChallenge")
        try reader.finish()
        return ["code": .string(grants.code(of: grant, redirectURI: redirectURI, challenge: challenge, now: now))]
    }

    /// The tokens of all issuers or of all providers, the oldest first.
    ///
    /// `root` is the first segment of their paths, and `name` the name of the member that has theirs.
    func tokens(below root: String, as name: String, now: Int) -> JSON {
        .array(
            grants.listing.filter { $0.grant.server.hasPrefix(root + "/") }.map { token in
                var json: JSON = [
                    "token": .string(token.text), "kind": .string(token.kind.rawValue),
                    "state": .string(token.state(at: now).rawValue),
                ]
                json[name] = .string(String(token.grant.server.dropFirst(root.count + 1)))
                json["client"] = .string(token.grant.client)
                json["sub"] = .string(token.grant.subject)
                json["scopes"] = .strings(token.grant.scopes)
                json["issuedAt"] = .integer(token.issuedAt)
                json["expiresAt"] = token.expiresAt.map { .integer($0) }
                return json
            }
        )
    }

    private func issuer(_ reader: inout JSONReader) throws(DataError) -> OpenIDIssuer {
        let name = try reader.requiredString("issuer")
        guard let issuer = issuers[name] else { throw reader.failure("issuer", "there is no issuer \(name)") }
        return issuer
    }

    /// Makes a grant for the members `client`, `user`, `scopes` and `nonce` of a request.
    private mutating func grant(_ reader: inout JSONReader, by issuer: OpenIDIssuer) throws(DataError) -> Grant {
        grants.grant(
            to: try reader.string("client") ?? issuer.firstClient,
            at: issuer.server,
            user: try reader.anObject("user") ?? issuer.userClaims,
            scopes: try reader.strings("scopes") ?? ["openid"],
            nonce: try reader.string("nonce"),
            isOfDialog: false
        )
    }
}

extension OpenIDIssuer {
    /// The first of the clients by name, for requests that name none.
    fileprivate var firstClient: String { clients.keys.min() ?? "" }
}
