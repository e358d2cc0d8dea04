package import Domain
import Encodings
package import Postgres

extension Store {
    /// Returns the failure to report for an error of PostgreSQL (docs/security.md#when-a-part-breaks).
    ///
    /// The failure leaves PostgreSQL's own message out, since the message repeats values.
    func failure(of error: PostgresError, in application: Application?) async -> Failure {
        await diagnosis(of: error, in: application).failure
    }

    /// Returns the failure for a statement's error, and whether the statement was made from an outdated configuration.
    func diagnosis(of error: PostgresError, in application: Application?) async -> StatementError {
        switch error {
        case .decoding(let decoding) where decoding.reason == .wrongType: return .outdated(.undecodable(decoding))
        case .decoding(let decoding): return .failed(.undecodable(decoding))
        case .tooLarge(let excess): return .failed(.tooLarge(excess))
        default: break
        }
        guard case .other = error.handling else { return .failed(await passingFailure(of: error, in: application)) }
        if error.sqlState == "P0001", application != nil {
            // A trigger of the operator refused the values by RAISE EXCEPTION. The trigger's message may repeat values,
            // so only the code of the error is kept, for the service's log.
            return .failed(
                Failure(.constraintViolation, "A rule of the users table refuses these values.", cause: "\(error)")
            )
        }
        if application != nil, ["42703", "42804", "42883"].contains(error.sqlState) {
            return .outdated(.otherColumns(cause: "\(error)"))
        }
        if application == nil, error.isAboutTables || error.isAboutColumns {
            return .outdated(.missingTables(cause: "\(error)"))
        }
        guard error.isAboutTables, let application else { return .failed(.fromOther(error)) }
        return await diagnosis(ofLackingTables: error, of: application)
    }

    /// Returns the failure for an error caused by unsuitable values, by overload, or by an unavailable database.
    private func passingFailure(of error: PostgresError, in application: Application?) async -> Failure {
        switch error.handling {
        case .constraintViolation:
            return await constraintFailure(of: error, in: application)
        case .clientFault:
            return Failure(
                .valueNotConvertible,
                "A value cannot be stored in the column of its property.",
                cause: "\(error)"
            )
        case .wait where error.isOverload:
            return Failure(.overloaded, "The service is busy. Try again shortly.", retryAfter: 1, cause: "\(error)")
        case .retryTransaction, .dropConnection, .wait:
            return Self.unreachable(error)
        case .other:
            return .fromOther(error)
        }
    }

    /// Returns the failure to report if the database does not respond in time or cannot be reached.
    package static func unreachable(_ error: PostgresError) -> Failure {
        Failure(
            .storeUnavailable,
            "The database did not respond in time or cannot be reached. Try again shortly.",
            retryAfter: 2,
            cause: "\(error)"
        )
    }

    /// Returns the failure for missing tables.
    ///
    /// Most likely the application of these tables has just been removed.
    private func diagnosis(
        ofLackingTables error: PostgresError,
        of application: Application
    ) async -> StatementError {
        do throws(PostgresError) {
            let question: Statement = "select from federation.applications where id = \(application.id.text)"
            guard try await postgres.query(question).count > 0 else { return .failed(Self.applicationRemoved) }
            // An application that was created again with the same id may have another schema.
            return .outdated(.missingTables(cause: "\(error)"))
        } catch {
            return .failed(await failure(of: error, in: nil))
        }
    }

    /// The failure of requests to an application that has been removed.
    package static let applicationRemoved = Failure(
        .unknownApplication,
        "This application has been removed. Check the base URL of your client."
    )

    /// Returns the failure for a violated constraint, with the property that the constraint is about.
    private func constraintFailure(of error: PostgresError, in application: Application?) async -> Failure {
        if case .server(let server) = error, server.sqlState == "23505", server.table == "passwords" {
            return Self.loginTakenByOther
        }
        guard case .server(let server) = error, let application,
            let columns = await self.columns(of: server, in: application)
        else {
            return Failure(.internal, "The service could not write its data.", cause: "\(error)")
        }
        if server.constraint == "dynamic_is_bounded" {
            return .dynamicTooLarge(over: JSONObject.maxStoredDynamicBytes)
        }
        let named = columns.joined(separator: ", ")
        var details = JSONObject()
        if let column = columns.first { details.append("property", .string(column)) }
        if let constraint = server.constraint { details.append("constraint", .string(constraint)) }
        let message =
            switch server.sqlState {
            case "23502": "The property \(named) must have a value."
            case "23505": "Another user already has this value of \(named.isEmpty ? "a property" : named)."
            default: "The value of \(named.isEmpty ? "a property" : named) violates a constraint of the users table."
            }
        return Failure(.constraintViolation, message, details: details, cause: "\(error)")
    }

    /// Returns the failure for a client's write that leaves a required property of a user empty; nil for all other
    /// errors.
    func userWriteFailure(of error: PostgresError, in application: Application) async -> Failure? {
        guard case .server(let server) = error, server.sqlState == "23502",
            let column = await columns(of: server, in: application)?.first
        else { return nil }
        return Failure(
            .propertyMissing,
            "Every user must have the property \"\(column)\". Give it a value.",
            details: ["property": .string(column)]
        )
    }

    /// Returns the properties whose columns a database error is about; nil if the error is not about the users table.
    ///
    /// The list is empty if the columns cannot be determined. If a column of an adopted users table belongs to no
    /// property, the list has the column's name in that table.
    private func columns(of error: ServerError, in application: Application) async -> [String]? {
        let isOwnTable = error.table == "users" && error.schema == application.schema
        if isOwnTable, let column = error.column { return [column] }
        guard let schema = error.schema, let table = error.table else { return nil }
        let statement: Statement = """
            select coalesce(array_agg(distinct coalesce(u.name, u.column_name)) filter (
                where u.column_name = \(error.column)::text or u.number = any (c.conkey) or u.number = any (i.indkey)
            ), '{}')
            from federation.user_columns(\(application.schema)) u
            join pg_class t on t.oid = u.relation
            join pg_namespace n on n.oid = t.relnamespace
            left join pg_constraint c on c.conrelid = t.oid and c.conname = \(error.constraint)
            left join pg_index i on i.indrelid = t.oid
                and i.indexrelid = (select oid from pg_class where relname = \(error.constraint) and relnamespace = n.oid)
            where n.nspname = \(schema) and t.relname = \(table)
            group by t.oid
            """
        let columns = try? await tables(of: application).query(statement).first([String].self)
        return columns ?? (isOwnTable ? [] : nil)
    }
}

extension PostgresError {
    /// Whether the error says that a schema or a table is missing.
    fileprivate var isAboutTables: Bool { ["3F000", "42P01"].contains(sqlState) }

    /// Whether the error says that a column or a function is missing.
    ///
    /// If a table of the service lacks the column, the database has an older schema.sql.
    fileprivate var isAboutColumns: Bool { ["42703", "42883"].contains(sqlState) }

    /// Whether too many statements wait for a connection of the pool, while the database itself may be available.
    fileprivate var isOverload: Bool {
        switch self {
        case .overloaded, .leaseTimeout: true
        default: false
        }
    }
}

extension Failure {
    /// Returns the failure of a statement that names columns or types which the users table does not have.
    ///
    /// Most likely a property is being renamed, widened or removed, and this instance will soon be notified of that.
    static func otherColumns(cause: String) -> Failure {
        Failure(
            .storeUnavailable,
            """
            The columns of the users table do not match the configuration, perhaps because it is being changed. Try \
            again shortly.
            """,
            retryAfter: 1,
            cause: cause
        )
    }

    fileprivate static func missingTables(cause: String) -> Failure {
        Failure(
            .storeUnavailable,
            "The database has no tables of this service. The operator must run federation migrate.",
            retryAfter: 60,
            cause: "the database has no schema of this service, or an older one: run federation migrate (\(cause))"
        )
    }

    /// Returns the failure for a database error that no more specific function translates.
    ///
    /// Values that do not fit their columns are the fault of the request. All other errors are the service's.
    fileprivate static func fromOther(_ error: PostgresError) -> Failure {
        switch error.sqlState {
        case "22001", "22003", "22007", "22008":
            Failure(
                .valueNotConvertible,
                "A mapped value does not fit the column of its property.",
                cause: "\(error)"
            )
        case "42501":
            .databaseFault(
                cause: "the role of the connection lacks a right; its name is said by federation doctor (\(error))"
            )
        default:
            .databaseFault(cause: "\(error)")
        }
    }

    /// Returns the failure for a database error that is neither the request's fault nor temporary.
    static func databaseFault(cause: String) -> Failure {
        Failure(.internal, "The service could not use its database.", cause: cause)
    }
}
