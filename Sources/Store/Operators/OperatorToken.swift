import Postgres
package import Vocabulary

extension Store {
    /// The operator of a live token; nil when the token is unknown, expired or revoked.
    ///
    /// Notes the use, at most once a minute. Of requests that come at once one notes it; the others do not wait.
    package func `operator`(
        tokenHash: [UInt8]
    ) async throws(Failure) -> (name: OperatorName, role: OperatorRole)? {
        let result = try await query(
            """
            with token as (
                select o.name, o.role from federation.operator_tokens t join federation.operators o on o.name = t.operator
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
            select name, role from token
            """
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first, let name = OperatorName(try row.decode(0, as: String.self)),
                let role = OperatorRole(rawValue: try row.decode(1, as: String.self))
            else { return nil }
            return (name, role)
        }
    }
}
