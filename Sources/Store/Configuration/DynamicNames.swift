package import Domain
import Postgres

extension Store {
    /// The maximum number of names of undeclared properties of one application (decision D4).
    package static let dynamicNamesAllowed = 100

    /// Registers names of undeclared properties that a client's mapping writes.
    ///
    /// The application's row is locked first, so that concurrent logins cannot exceed the limit together. The other
    /// locks follow in the order that the documentation of `change` gives.
    ///
    /// - Throws: `mapping_target_not_allowed` if the application would have more than 100 of these names.
    package func registerDynamicNames(_ names: [PropertyName], of application: ApplicationID) async throws(Failure) {
        let texts = names.map(\.text)
        let fits = try await transaction { connection in
            _ = try await connection.query(
                "select from federation.applications where id = \(application.text) for update"
            )
            let known = try await connection.query(
                """
                select count(*) from federation.dynamic_properties
                where application_id = \(application.text) and name <> all (\(texts))
                """
            )
            guard let others = try known.first(Int.self),
                others + texts.count <= Self.dynamicNamesAllowed
            else { return false }
            // Skips names that have just been declared, and an application that has just been deleted.
            let added = try await connection.query(
                """
                insert into federation.dynamic_properties (application_id, name)
                select a.id, new.name
                from federation.applications a, unnest(\(texts)) new (name)
                where a.id = \(application.text) and not exists (
                    select from federation.properties p where p.application_id = a.id and p.name = new.name
                )
                on conflict do nothing
                """
            )
            if added.affectedRows != 0 { _ = try await connection.raiseRevision(of: [application]) }
            return true
        }
        guard fits else {
            throw Failure(
                .mappingTargetNotAllowed,
                "This application has as many undeclared properties as it may have, \(Self.dynamicNamesAllowed). "
                    + "Ask the operator to declare some."
            )
        }
    }
}
