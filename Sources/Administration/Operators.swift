import FoundationEssentials
import Secrets
import Store
package import Vocabulary

/// Operators and their tokens.
package struct OperatorAdministration: Sendable {
    let store: Store
    /// Answers who calls, by connections that no slow question of an operator occupies.
    let callers: Store
    let clock: WallClock
    let random: RandomSource

    /// The operator of a bearer token; nil when the token is unknown, expired or revoked.
    package func authenticate(
        _ token: OperatorToken
    ) async throws(Failure) -> CallingOperator? {
        try await callers.operator(tokenHash: token.hash)
    }

    /// Operators in the order of their names.
    package func list(_ page: PageRequest) async throws(Failure) -> Page {
        var after: OperatorName?
        if let cursor = page.cursor {
            guard let name = OperatorName(cursor) else { throw .badCursor }
            after = name
        }
        let found = try await store.operators(after: after, limit: page.limit + 1)
        return page.page(of: found, cursor: \.name.text) { .object($0.json) }
    }

    /// `{"name", "role", "created", "tokens": [{"id", "created", "expires", "machine", "lastUsed"}]}`.
    package func read(_ name: String) async throws(Failure) -> Resource {
        guard let name = OperatorName(name), let stored = try await store.operator(name) else {
            throw .noSuchOperator
        }
        return stored.resource
    }

    /// Makes an operator from `{"name", "role", "expiresInSeconds"?, "machine"?}`; the answer holds its `token`, this
    /// once.
    package func create(_ document: JSONValue, by actor: Actor) async throws(Failure) -> Resource {
        var document = try OperatorDocument(document, known: ["name", "role", "expiresInSeconds", "machine"])
        let (name, role) = (document.name(), document.role())
        let (lifetime, isMachine) = (document.lifetime(), document.isMachine())
        guard document.problems.isEmpty, let name, let role else { throw document.problems.failure }
        let token = NewToken(lifetime: lifetime, isMachine: isMachine, clock, random)
        let created = try await changing {
            try await store.change(name, by: actor) { _ in [.create(role: role), token.change] }
        }
        guard let created else { throw .noSuchOperator }
        var body = created.json
        body.append("token", .string(token.token.secret.reveal()))
        return Resource(.object(body), tag: created.tag)
    }

    /// Changes the role by the merge patch `{"role"}`.
    package func change(
        _ name: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(patch, known: ["role"])
        guard let role = document.role(), document.problems.isEmpty else { throw document.problems.failure }
        let changed = try await change(name, if: precondition, by: actor) { _ in .setRole(role) }
        guard let changed else { throw .noSuchOperator }
        return changed.resource
    }

    /// Makes a further token from `{"expiresInSeconds"?, "machine"?}`: `{"id", "created", "expires", "machine",
    /// "token"}`, this once.
    ///
    /// The tag is the operator's: it guards the token as well.
    package func createToken(
        of name: String,
        _ document: JSONValue,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        var document = try OperatorDocument(document, known: ["expiresInSeconds", "machine"])
        let (lifetime, isMachine) = (document.lifetime(), document.isMachine())
        guard document.problems.isEmpty else { throw document.problems.failure }
        let token = NewToken(lifetime: lifetime, isMachine: isMachine, clock, random)
        let changed = try await change(name, if: .any, by: actor) { _ in token.change }
        guard let changed, let stored = changed.tokens.first(where: { $0.id == token.id }) else {
            throw .noSuchOperator
        }
        var body = stored.json
        body.append("token", .string(token.token.secret.reveal()))
        return Resource(.object(body), tag: changed.tag)
    }

    /// Revokes one token.
    package func revokeToken(
        _ id: String,
        of name: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await change(name, if: precondition, by: actor) { stored in
            guard stored.tokens.contains(where: { $0.id.hasSameBytes(as: id) }) else {
                throw Failure(.notFound, "This operator has no such token, or it has expired.")
            }
            return .revokeToken(id: id)
        }
    }

    /// Removes an operator with all tokens.
    package func remove(
        _ name: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await change(name, if: precondition, by: actor) { _ in .delete }
    }

    /// Changes an operator who exists.
    private func change(
        _ name: String,
        if precondition: Precondition,
        by actor: Actor,
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

/// A token that is being made.
private struct NewToken: Sendable {
    let id: String
    let token: OperatorToken
    let expires: Int64?
    let isMachine: Bool

    init(lifetime seconds: Int64?, isMachine: Bool, _ clock: WallClock, _ random: RandomSource) {
        id = Hexadecimal.encode(random.bytes(8))
        token = OperatorToken(random: random.bytes(32))
        self.isMachine = isMachine
        expires = seconds.map { clock.milliseconds + $0 * 1000 }
    }

    var change: OperatorChange { .addToken(id: id, hash: token.hash, expires: expires, isMachine: isMachine) }
}

extension OperatorToken {
    /// What the database knows of the token.
    fileprivate var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}

extension Failure {
    static let noSuchOperator = Failure(.notFound, "There is no such operator.")
}
