import Postgres
package import Vocabulary

/// A credential that counts once, for one attempt.
package struct SingleUse: Sendable {
    /// SHA-256 of what identifies the credential.
    package let hash: [UInt8]
    /// When it was issued: a revocation or a deletion that came a second later, or more, has ended it, too.
    ///
    /// Providers tell the time of issue in whole seconds.
    package let issuedAt: StoreMoment
    /// Seconds until it is refused for another reason, so that nobody has to remember it any longer.
    package let seconds: Int64
    /// Who uses it: the same attempt may come again within a minute.
    package let owner: [UInt8]
    /// SHA-256 of the nonce that we gave out and that nothing else may have used; nil when the credential needs none.
    package let nonceHash: [UInt8]?

    package init(hash: [UInt8], issuedAt: StoreMoment, seconds: Int64, owner: [UInt8], nonceHash: [UInt8]?) {
        self.hash = hash
        self.issuedAt = issuedAt
        self.seconds = seconds
        self.owner = owner
        self.nonceHash = nonceHash
    }
}

/// The part of a statement by which one attempt alone uses a credential.
///
/// The same attempt may come again, for a minute: it lost the race for a new person, or its client lost the reply.
struct SingleUseStep<Input> {
    let schema: SQL<Input>
    let kind: TakenOnce
    let once: @Sendable (Input) -> SingleUse?

    init(schema: SQL<Input>, kind: TakenOnce, once: @escaping @Sendable (Input) -> SingleUse?) {
        self.schema = schema
        self.kind = kind
        self.once = once
    }

    /// A CTE that has a row for the one attempt.
    var expression: SQL<Input> {
        """
        seen as (
            insert into \(schema).single_use as s (kind, hash, owner, used, expires)
            values (\(literal: kind.rawValue), \(hash), \(owner), now(), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do update set owner = s.owner
            where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
            returning s.created
        )
        """
    }

    var isFirst: SQL<Input> { "exists (select from seen)" }

    /// Whether nobody has used it before, not even the same attempt.
    static var isFresh: SQL<Input> { "exists (select from seen where seen.created = now())" }

    // A credential that is nobody's must not pass for one that was never seen.
    private var hash: Parameter<Input> {
        let once = once
        return Parameter(SignInStatement.credentialHashParameter) { once($0).map { .bytes($0.hash) } ?? .null(.bytes) }
    }
    var seconds: Parameter<Input> {
        let once = once
        return Parameter("credential_seconds") { .int64(once($0)?.seconds ?? 0) }
    }
    var owner: Parameter<Input> {
        let once = once
        return Parameter("attempt") { once($0).map { .bytes($0.owner) } ?? .null(.bytes) }
    }
}
