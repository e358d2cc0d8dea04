package import Domain
import Postgres

extension Store {
    /// Returns the failure of a login that lacks a required second factor; nil if no factor is missing.
    ///
    /// The provider has verified the identity already. The SQL statement that writes the login decides by the same
    /// rules. The result is nil for a disabled user, too, since the login itself refuses a disabled user.
    ///
    /// - Returns: `second_factor_required`, `second_factor_enrolment_required`, or nil.
    /// - Throws: `store_unavailable` and similar failures.
    package func factorDemand(
        of identity: IdentityKey,
        deviceHash: [UInt8]? = nil,
        in application: Application
    ) async throws(Failure) -> Failure? {
        typealias Login = (identity: IdentityKey, deviceHash: [UInt8]?)
        let holder: SQL<Login> = "(select holder.object_id from holder)"
        let step = FactorStep<Login>(
            asking: application,
            method: identity.provider,
            user: holder,
            deviceHash: \.deviceHash
        )
        guard let step else { return nil }
        let schema: SQL<Login> = "\(identifier: application.schema)"
        let app = Parameter<Login>("app") { .text($0.identity.app.text) }
        let subject = Parameter<Login>("subject") { .text($0.identity.subject.text) }
        let text: SQL<Login> = """
            with holder as (
                select i.object_id from \(schema).identities i
                where i.provider = \(literal: identity.provider.text) and i.provider_app = \(app)
                    and i.subject = \(subject)
            ), \(step.expressions(if: []))
            select factor.demand from factor
            where not exists (
                select from \(schema).users u where u.object_id = \(holder) and u.user_status = 'DISABLED'
            )
            """
        let result = try await query(text.bound(to: (identity, deviceHash)), of: application)
        return try (result.first(String?.self) ?? nil).flatMap(FactorDemand.init)?.failure
    }
}
