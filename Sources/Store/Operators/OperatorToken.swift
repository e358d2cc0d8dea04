import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// The operator of a live token; nil when the token is unknown, expired or revoked.
    ///
    /// Notes the use, at most once a minute. Of requests that come at once one notes it; the others do not wait.
    package func `operator`(tokenHash: [UInt8]) async throws(Failure) -> CallingOperator? {
        let result = try await query(
            """
            with token as (
                select o.name, o.role, o.object_id, t.machine, t.factor_proved, t.purpose
                from federation.operator_tokens t join federation.operators o on o.name = t.operator
                where t.token_hash = \(tokenHash) and (t.expires is null or t.expires > now())
            ), used as (
                update federation.operator_tokens set last_used = now()
                where token_hash = (
                    select t.token_hash from federation.operator_tokens t, token
                    where t.token_hash = \(tokenHash)
                        and (t.last_used is null or t.last_used < now() - interval '1 minute')
                    for no key update of t skip locked
                )
            )
            select name, role, object_id, machine, exists (\(unsafeRaw: Self.standingFactor)),
                ceil(extract(epoch from now() - factor_proved))::bigint, purpose
            from token
            """
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first, let name = OperatorName(try row.decode(0, as: String.self)),
                let role = OperatorRole(rawValue: try row.decode(1, as: String.self)),
                let purpose = OperatorTokenPurpose(rawValue: try row.decode(6, as: String.self))
            else { return nil }
            return CallingOperator(
                name: name,
                role: role,
                id: ObjectID(try row.decode(2, as: UUID.self)),
                tokenHash: tokenHash,
                purpose: purpose,
                isMachine: try row.decode(3, as: Bool.self),
                hasFactor: try row.decode(4, as: Bool.self),
                factorShownAgo: try row.decode(5, as: Int64?.self)
            )
        }
    }

    /// A factor of the operator of a row `token` that is more than codes for the worst day.
    private static let standingFactor =
        "select from federation.operator_factors f where f.object_id = token.object_id and f.kind <> 'recoveryCode'"
}
