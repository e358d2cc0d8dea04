import Postgres
package import Vocabulary

extension Store {
    /// How many undeclared names one application may have (decision D4).
    package static let dynamicNamesAllowed = 100

    /// Registers names of undeclared properties that a client's mapping brought in.
    ///
    /// The application's row is locked first, so that simultaneous logins cannot go beyond the limit together; the
    /// other locks follow in the order of `change`.
    ///
    /// - Throws: `mapping_target_not_allowed` when the application would have more than 100.
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
            guard let others = try known.first?.decode(0, as: Int.self),
                others + texts.count <= Self.dynamicNamesAllowed
            else { return false }
            // A name that was declared a moment ago is none of them; nor is there any in an application that has just
            // gone.
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
                    + "Ask its operator to declare some."
            )
        }
    }
}
