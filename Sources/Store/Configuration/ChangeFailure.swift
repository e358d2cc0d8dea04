import Domain
import Encodings
import Postgres

/// The error that a column cannot be changed because other database objects depend on it.
///
/// The service looks the objects up after the end of the transaction, to name them to the operator.
struct DependentObjects: Error {
    let property: PropertyName
    let users: UsersTable
    let refusal: PostgresError
}

extension ChangeTransaction {
    /// Returns the failure that an operator sees if PostgreSQL refuses to change a property's column or its values.
    ///
    /// An error that is not about the column is returned unchanged. The failure's message leaves out PostgreSQL's
    /// message, since that repeats values.
    static func refusal(
        of error: PostgresError,
        about property: PropertyName,
        in users: UsersTable,
        advice: String
    ) -> any Error {
        func failure(_ reason: Failure.Reason, _ message: String) -> Failure {
            Failure(reason, message, details: ["property": .string(property.text)], cause: "\(error)")
        }
        switch error.sqlState {
        case "57014":
            return failure(
                .conflict,
                """
                This would keep logins waiting for too long: the users table is too large for it, or the database is busy. \
                \(property) stays as it is, and so does everything else. \(advice)
                """
            )
        case "54011":
            return failure(
                .conflict,
                """
                The users table has reached PostgreSQL's limit of 1600 columns, including removed ones. To add \
                \(property), dump and restore the schema \(users.schema).
                """
            )
        case "42701":
            return failure(.conflict, "The users table already has a column \(property).")
        case "42703":
            return columnMissing(property)
        case "23502":
            return failure(
                .constraintViolation,
                "\(property) cannot be required: some users have no value. Give them one first."
            )
        case "22003", "22007", "22008", "22P02", "22P05":
            return failure(
                .valueNotConvertible,
                "Some users have a value of \(property) that does not fit the type. Nothing has changed."
            )
        case "0A000", "2BP01", "42601", "42804", "42883":
            return DependentObjects(property: property, users: users, refusal: error)
        case let state? where error.handling == .constraintViolation || state == "54000" || state == "P0001":
            return failure(.constraintViolation, "A rule of the users table refuses the values of \(property).")
        default:
            return error
        }
    }
}

extension Store {
    /// Returns the failure that an operator sees for the error of a configuration change.
    func changeFailure(of error: any Error) async -> any Error {
        switch error {
        case let dependents as DependentObjects: await failure(of: dependents)
        case let requirement as Requirement:
            Failure(.conflict, "Another change affected \(requirement.property). Nothing was changed. Try again.")
        case PostgresError.withheld(let reason):
            Failure(
                .storeUnavailable,
                "The database of the application's users cannot be used: \(reason). Nothing has changed.",
                retryAfter: 2,
                cause: reason
            )
        case let problem as DatabaseProblem: problem.failure
        case let error as PostgresError:
            if let failure = Self.taken(error) { failure } else { await failure(of: error, in: nil) }
        default: error
        }
    }

    /// Returns the failure for a violated constraint of the configuration's tables, or for a missing privilege.
    ///
    /// The result is nil for any other error.
    private static func taken(_ error: PostgresError) -> Failure? {
        let message: String? =
            switch (error.sqlState, error.constraint) {
            case ("42501", _):
                """
                The service's database role may not do this. It must own the application's schema and the tables in it; to make \
                a schema it needs: grant create on database … to …;
                """
            case (_, "applications_pkey"): "An application with this id already exists."
            case (_, "applications_schema_name_key"): "The schema already has the users of another application."
            case (_, "api_keys_application_id_label_key"): "An API key with this label already exists."
            case (_, "api_keys_pkey"): "This API key already exists with another label."
            case (_, "adopted_columns_application_id_column_name_key"):
                "The users table already has a column with this name, of another property."
            case (_, "properties_pkey"): "A property with this name is already declared."
            default: nil
            }
        return message.map { Failure(.conflict, $0 + " Nothing has changed.", cause: "\(error)") }
    }

    private func failure(of dependents: DependentObjects) async -> Failure {
        let names = (try? await objects(dependingOn: dependents.property, in: dependents.users)) ?? []
        let what = names.isEmpty ? "Something in the database" : names.joined(separator: ", ")
        return Failure(
            .conflict,
            """
            \(what) depends on the column \(dependents.property) and does not allow this. Nothing was changed. Drop \
            it, repeat the change, and create it again if you need it.
            """,
            details: ["property": .string(dependents.property.text)],
            cause: "\(dependents.refusal)"
        )
    }

    /// Returns the objects that depend on a column, in PostgreSQL's words: `view report`, `index users_points`, ….
    private func objects(dependingOn property: PropertyName, in table: UsersTable) async throws -> [String] {
        // A view depends on a column through the view's rule. A default is an object separate from its column.
        let result = try await tables(of: table.place).query(
            """
            select coalesce(array_agg(distinct description order by description), '{}') from (
                select coalesce(
                    (select pg_describe_object('pg_class'::regclass, r.ev_class, 0) from pg_rewrite r
                        where d.classid = 'pg_rewrite'::regclass and r.oid = d.objid),
                    pg_describe_object(d.classid, d.objid, d.objsubid)) as description
                from pg_depend d
                join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
                join federation.user_columns(\(table.schema)) c on c.name = \(property.text)
                where d.refclassid = 'pg_class'::regclass and d.deptype in ('n', 'a') and (
                    a.attrelid = c.relation and a.attnum = c.number
                    or a.attrelid = \(table.users)::regclass and a.attname = c.name
                )
                limit 10
            ) objects
            """
        )
        return try result.first([String].self) ?? []
    }
}
