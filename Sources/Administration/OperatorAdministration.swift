import Description
package import Domain
package import Encodings
import FoundationEssentials
import Secrets
import Store

/// Lists, creates, changes and deletes operators, their tokens and their sessions of the console.
package struct OperatorAdministration: Sendable {
    let store: Store
    /// The database connections for the authentication of operators.
    ///
    /// They may be separate from the connections for other requests. Then a slow query of an operator delays no
    /// authentication.
    let callers: Store
    let clock: WallClock
    let random: RandomSource

    /// Returns the operator to whom a bearer token belongs; nil if the token is unknown, expired or revoked.
    package func authenticate(
        _ token: OperatorToken
    ) async throws(Failure) -> CallingOperator? {
        try await callers.operator(tokenHash: token.hash)
    }

    /// Returns a page of operators, in the order of their names.
    package func list(_ page: PageRequest) async throws(Failure) -> Page {
        var after: OperatorName?
        if let cursor = page.cursor {
            guard let name = OperatorName(cursor) else { throw .badCursor }
            after = name
        }
        let found = try await store.operators(after: after, limit: page.limit + 1)
        return page.page(of: found, cursor: \.name.text) { .object($0.json) }
    }

    /// Returns an operator.
    ///
    /// The shape is `{"name", "role", "created", "tokens": [{"id", "created", "expires", "machine", "purpose",
    /// "lastUsed"}]}`.
    package func read(_ name: String) async throws(Failure) -> Resource {
        guard let name = OperatorName(name), let stored = try await store.operator(name) else {
            throw .noSuchOperator
        }
        return stored.resource
    }

    /// Creates an operator from `{"name", "role", "expiresInSeconds"?, "machine"?}`.
    ///
    /// - Parameters:
    ///   - document: The operator.
    ///   - actor: The operator who calls, for the audit log.
    ///   - caller: The operator to whom the request's token belongs; nil for a command on the service's machine. A
    ///     program cannot create a token for a human.
    /// - Returns: The operator, and `token`, which is shown only once.
    /// - Throws: `document_invalid`, `conflict`, `operator_forbidden`.
    package func create(
        _ document: JSONValue,
        by actor: ChangeAuthor,
        as caller: CallingOperator?
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(document, known: ["name", "role", "expiresInSeconds", "machine"])
        let (name, role) = (document.name(), document.role())
        let (lifetime, isMachine) = (document.lifetime(), document.isMachine())
        guard document.problems.isEmpty, let name, let role else { throw document.problems.failure }
        guard isMachine || caller?.isMachine != true else { throw .personRequired }
        let token = NewToken(lifetime: lifetime, isMachine: isMachine, clock, random)
        let created = try await changing {
            try await store.change(name, by: actor) { _ in [.create(role: role), token.change] }
        }
        guard let created else { throw .noSuchOperator }
        var body = created.json
        body.append("token", .string(token.token.secret.reveal()))
        return Resource(.object(body), tag: created.tag)
    }

    /// Changes the role of an operator by the merge patch `{"role"}`.
    package func change(
        _ name: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(patch, known: ["role"])
        guard let role = document.role(), document.problems.isEmpty else { throw document.problems.failure }
        let changed = try await change(name, if: precondition, by: actor) { _ in .setRole(role) }
        guard let changed else { throw .noSuchOperator }
        return changed.resource
    }

    /// The lifetime of a link to the console.
    package static let linkLifetime = Duration.seconds(300)
    /// The lifetime of a session in the console.
    package static let sessionLifetime = Duration.seconds(43_200)

    /// Creates a token that opens one session of the console.
    ///
    /// - Returns: `{"id", "created", "expires", "machine", "purpose", "token"}`. The token is shown only once.
    package func createLink(of name: String, by actor: ChangeAuthor) async throws(Failure) -> Resource {
        let token = NewToken(
            lifetime: Self.linkLifetime.components.seconds,
            isMachine: false,
            purpose: .link,
            clock,
            random
        )
        return try await create(token, of: name, by: actor)
    }

    // MARK: The first owner

    /// The lifetime of a link that creates the first owner.
    package static let setupLifetime = Duration.seconds(1800)

    /// Returns whether there is no operator.
    package func areMissing() async throws(Failure) -> Bool { try await !store.hasOperators() }

    /// Creates the token of the link with which a human creates the first owner: `{"token", "expires"}`.
    ///
    /// The token is single-use. The token of an earlier link is revoked.
    ///
    /// - Throws: `conflict` if there is an operator.
    package func createSetupLink(by actor: ChangeAuthor) async throws(Failure) -> Resource {
        let token = OperatorToken(random: random.bytes(32))
        let expires = clock.milliseconds + Self.setupLifetime.components.seconds * 1000
        guard try await store.beginSetup(token.hash, expires: expires, by: actor) else {
            throw Failure(
                .conflict,
                "An operator already exists. Create a link to log in with: federation console NAME."
            )
        }
        return Resource(
            .object(["token": .string(token.secret.reveal()), "expires": .integer(expires)]),
            tag: nil
        )
    }

    /// Returns a temporary operator for the token of a setup link; nil for any other token and for an expired one.
    ///
    /// A request of this operator may create the first owner.
    package func caller(settingUpBy token: OperatorToken) async throws(Failure) -> CallingOperator? {
        guard let name = OperatorName("setup"), try await callers.canSetUp(by: token.hash) else { return nil }
        return CallingOperator(
            name: name,
            role: .viewer,
            id: random.objectID(),
            tokenHash: token.hash,
            purpose: .link,
            isMachine: false,
            hasFactor: false,
            factorShownAgo: nil
        )
    }

    /// Creates the first owner from `{"name"}`.
    ///
    /// - Parameters:
    ///   - document: The owner.
    ///   - caller: The caller with the token of the setup link. The token is used up.
    ///   - source: The source of the request, for the audit log.
    /// - Returns: The owner, and `token`, which is shown only once.
    /// - Throws: `document_invalid`; `operator_token_invalid` if the link was used meanwhile.
    package func setUp(
        _ document: JSONValue,
        by caller: CallingOperator,
        from source: String
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(document, known: ["name"])
        let name = document.name()
        guard document.problems.isEmpty, let name else { throw document.problems.failure }
        let token = NewToken(lifetime: nil, isMachine: false, clock, random)
        let actor = ChangeAuthor(name: "setup:link", source: source)
        guard let made = try await store.setUp(name, by: caller.tokenHash, adding: token.change, by: actor) else {
            throw .setupLinkInvalid
        }
        var body = made.json
        body.append("token", .string(token.token.secret.reveal()))
        return Resource(.object(body), tag: made.tag)
    }

    /// Opens a session of the console for the operator of a token: `{"id", "expires", "token"}`.
    ///
    /// The token of the session is shown only once.
    ///
    /// - Throws: `operator_token_invalid` if the token has expired, was revoked, belongs to a link that was already
    ///   used, or is itself the token of a session.
    package func openSession(of caller: CallingOperator, by actor: ChangeAuthor) async throws(Failure) -> JSONValue {
        guard caller.purpose != .session else {
            throw Failure(.operatorTokenInvalid, "A console session cannot open another session.")
        }
        let token = NewToken(
            lifetime: Self.sessionLifetime.components.seconds,
            isMachine: false,
            purpose: .session,
            clock,
            random
        )
        let expires = clock.milliseconds + Self.sessionLifetime.components.seconds * 1000
        let session = NewOperatorSession(id: token.id, hash: token.token.hash, expires: expires)
        guard let ends = try await store.openSession(session, of: caller, by: actor) else {
            throw Failure(.operatorTokenInvalid, "This link has been used or has expired. Create a new one.")
        }
        return .object([
            "id": .string(token.id), "expires": .integer(ends), "token": .string(token.token.secret.reveal()),
        ])
    }

    /// Returns the operator who sent the request, and the rights of the request's token.
    ///
    /// The shape is `{"name", "role", "purpose", "machine", "secondFactor": {"enrolled", "shownSecondsAgo"}}`.
    package func describe(_ caller: CallingOperator) -> JSONValue {
        .object([
            "name": .string(caller.name.text), "role": .string(caller.role.rawValue),
            "purpose": .string(caller.purpose.rawValue), "machine": .bool(caller.isMachine),
            "secondFactor": .object([
                "enrolled": .bool(caller.hasFactor),
                "shownSecondsAgo": caller.factorShownAgo.map(JSONValue.integer) ?? .null,
            ]),
        ])
    }

    /// Returns the caller's sessions of the console, the newest first: `[{"id", "created", "expires", "lastUsed"}]`.
    package func sessions(of caller: CallingOperator) async throws(Failure) -> JSONValue {
        let stored = try await store.operator(caller.name)
        let sessions = stored?.tokens.filter { $0.purpose == .session } ?? []
        return .array(
            sessions.map { session in
                .object([
                    "id": .string(session.id), "created": .integer(session.created),
                    "expires": session.expires.map(JSONValue.integer) ?? .null,
                    "lastUsed": session.lastUsed.map(JSONValue.integer) ?? .null,
                ])
            }
        )
    }

    /// Revokes a session of the caller: the session with the id, or without an id the session of this request.
    ///
    /// - Throws: `not_found`.
    package func endSession(
        _ id: String?,
        of caller: CallingOperator,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        guard try await store.endSession(id, of: caller, by: actor) else {
            throw Failure(.notFound, "This session does not exist or has ended.")
        }
    }

    /// Creates another token of an operator from `{"expiresInSeconds"?, "machine"?}`.
    ///
    /// The response has the operator's entity tag, since the tokens are a part of the operator.
    ///
    /// - Parameters:
    ///   - name: The operator.
    ///   - document: The token.
    ///   - actor: The operator who calls, for the audit log.
    ///   - caller: The operator to whom the request's token belongs; nil for a command on the service's machine. A
    ///     program cannot create a token for a human.
    /// - Returns: `{"id", "created", "expires", "machine", "purpose", "token"}`. The token is shown only once.
    /// - Throws: `document_invalid`, `not_found`, `operator_forbidden`; `conflict` if the operator has too many tokens.
    package func createToken(
        of name: String,
        _ document: JSONValue,
        by actor: ChangeAuthor,
        as caller: CallingOperator?
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(document, known: ["expiresInSeconds", "machine"])
        let (lifetime, isMachine) = (document.lifetime(), document.isMachine())
        guard document.problems.isEmpty else { throw document.problems.failure }
        guard isMachine || caller?.isMachine != true else { throw .personRequired }
        let token = NewToken(lifetime: lifetime, isMachine: isMachine, clock, random)
        return try await create(token, of: name, by: actor)
    }

    private func create(_ token: NewToken, of name: String, by actor: ChangeAuthor) async throws(Failure) -> Resource {
        let changed = try await change(name, if: .any, by: actor) { _ in token.change }
        guard let changed, let stored = changed.tokens.first(where: { $0.id == token.id }) else {
            throw .noSuchOperator
        }
        var body = stored.json
        body.append("token", .string(token.token.secret.reveal()))
        return Resource(.object(body), tag: changed.tag)
    }

    package func revokeToken(
        _ id: String,
        of name: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await change(name, if: precondition, by: actor) { stored in
            guard stored.tokens.contains(where: { $0.id.hasSameBytes(as: id) }) else {
                throw Failure(.notFound, "This token does not exist or has expired.")
            }
            return .revokeToken(id: id)
        }
    }

    /// Deletes an operator with all tokens.
    package func remove(
        _ name: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await change(name, if: precondition, by: actor) { _ in .delete }
    }

    /// Changes an existing operator.
    private func change(
        _ name: String,
        if precondition: Precondition,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredOperator) throws -> OperatorChange
    ) async throws(Failure) -> StoredOperator? {
        guard let name = OperatorName(name) else { throw .noSuchOperator }
        return try await changing {
            try await store.change(name, by: actor) { stored in
                guard let stored else { throw Failure.noSuchOperator }
                try precondition.check(stored.tag)
                return [try plan(stored)]
            }
        }
    }
}

/// A new operator token.
private struct NewToken: Sendable {
    let id: String
    let token: OperatorToken
    let expires: Int64?
    let isMachine: Bool
    let purpose: OperatorTokenPurpose

    init(
        lifetime seconds: Int64?,
        isMachine: Bool,
        purpose: OperatorTokenPurpose = .calls,
        _ clock: WallClock,
        _ random: RandomSource
    ) {
        self.purpose = purpose
        id = Hexadecimal.encode(random.bytes(8))
        token = OperatorToken(random: random.bytes(32))
        self.isMachine = isMachine
        expires = seconds.map { clock.milliseconds + $0 * 1000 }
    }

    var change: OperatorChange {
        .addToken(id: id, hash: token.hash, expires: expires, isMachine: isMachine, purpose: purpose)
    }
}

extension OperatorToken {
    /// The SHA-256 of the token, which the database stores in place of the token.
    fileprivate var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}

extension Failure {
    static let noSuchOperator = Failure(.notFound, "This operator does not exist.")

    /// The error for a token that cannot create the first owner.
    package static let setupLinkInvalid = Failure(
        .operatorTokenInvalid,
        """
        This link has been used or has expired, or an operator already exists. If there is no operator, create a new \
        link with `federation console`. Otherwise an owner must create further operators.
        """
    )
}
