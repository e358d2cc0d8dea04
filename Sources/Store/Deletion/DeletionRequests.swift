import FoundationEssentials
import Postgres
package import Vocabulary

/// What a person asked a provider for: the deletion of what we have of them.
package struct NewDeletionRequest: Sendable {
    let code: String
    let hash: [UInt8]
    let call: [UInt8]
    let identity: IdentityKey
    let issued: Int64
    let days: Int64

    /// Collects a request.
    ///
    /// - Parameters:
    ///   - code: What the person gets: 26 random characters of `A`–`Z` and `2`–`7`.
    ///   - hash: SHA-256 that is the same for the same request.
    ///   - call: SHA-256 that is the same for all requests of one call.
    ///   - identity: Whose data it is about.
    ///   - issued: Unix seconds at which the provider signed it.
    ///   - days: How long the erasure waits.
    package init(
        code: String,
        hash: [UInt8],
        call: [UInt8],
        identity: IdentityKey,
        issued: Int64,
        days: Int64
    ) {
        self.code = code
        self.hash = hash
        self.call = call
        self.identity = identity
        self.issued = issued
        self.days = days
    }
}

/// How far a request for deletion is; it names nobody.
package struct StoredDeletionRequest: Sendable {
    package let code: String
    /// Who asked; nil for a text that names no provider.
    package let provider: ProviderName?
    /// Milliseconds since 1970 UTC, as all times.
    package let requested: Int64
    /// When the erasure is due.
    package let due: Int64
    /// When it was done; nil when it was not.
    package let done: Int64?
}

extension Store {
    /// Writes the requests of a call down, all or none of them; those that are there already stay as they are.
    ///
    /// - Parameters:
    ///   - requests: In the order of their providers' names, so that no two calls wait for each other.
    ///   - application: Which was called.
    /// - Returns: The requests as they are stored, in that order, each with the code of its first arrival.
    /// - Throws: `store_unavailable` and its like; nothing is written then.
    package func openDeletions(
        _ requests: [NewDeletionRequest],
        of application: Application
    ) async throws(Failure) -> [StoredDeletionRequest] {
        try await transaction(in: tables(of: application)) { connection in
            var stored: [StoredDeletionRequest] = []
            for request in requests {
                stored.append(try await Self.openDeletion(request, of: application, on: connection))
            }
            return stored
        }
    }

    private static func openDeletion(
        _ request: NewDeletionRequest,
        of application: Application,
        on connection: PostgresConnection
    ) async throws -> StoredDeletionRequest {
        // The update changes nothing and makes the row come back that is there already.
        let result = try await connection.query(
            """
            insert into federation.deletion_requests as d
                (code, application_id, request_hash, call_hash, provider, provider_app, subject, issued, due)
            values (\(request.code), \(application.id.text), \(request.hash), \(request.call),
                \(request.identity.provider.text), \(request.identity.app.text), \(request.identity.subject.text), to_timestamp(\(request.issued)),
                now() + \(request.days) * interval '24 hours')
            on conflict (application_id, request_hash) do update set code = d.code
            returning \(unsafeRaw: StoredDeletionRequest.columns)
            """
        )
        guard let stored = try result.first.map(StoredDeletionRequest.init) else {
            throw Failure(.internal, "The request for deletion could not be written down.")
        }
        return stored
    }

    /// The request with a code, due and done with the last one of its call; nil when there is none.
    package func deletion(code: String, of application: Application) async throws(Failure) -> StoredDeletionRequest? {
        let result = try await query(
            """
            select d.code, d.provider, d.requested, max(o.due),
                case when bool_and(o.done is not null) then max(o.done) end
            from federation.deletion_requests d
            join federation.deletion_requests o
                on o.application_id = d.application_id and (o.code = d.code or o.call_hash = d.call_hash)
            where d.code = \(code) and d.application_id = \(application.id.text)
            group by d.code
            """,
            in: tables(of: application)
        )
        return try read { () throws(PostgresError) in try result.first.map(StoredDeletionRequest.init) }
    }

    /// Whether an identity is the only login method of its user; nil where no user has the identity.
    package func isOnlyLoginMethod(
        _ identity: IdentityKey,
        of application: Application
    ) async throws(Failure) -> Bool? {
        let schema = Statement.quoted(identifier: application.schema)
        let result = try await query(
            """
            select (select count(*) from \(unsafeRaw: schema).identities o where o.object_id = i.object_id)
                + (select count(*) from \(unsafeRaw: schema).passwords p where p.object_id = i.object_id) = 1
            from \(unsafeRaw: schema).identities i where \(identity.condition)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Bool.self) }
    }

    /// Notes in the audit log that the erasure of a list of ids has begun or ended.
    package func recordErasureList(
        _ details: JSONObject,
        of application: Application,
        by actor: Actor
    ) async throws(Failure) {
        let entry = AuditRecord(
            application: application.id,
            action: "user.eraseList",
            target: nil,
            from: nil,
            to: .object(details)
        )
        let tables = tables(of: application)
        try await transaction(in: tables) { try await tables.record([entry], by: actor, with: $0) }
    }

    /// The applications in the main database of which a request is due: most of many have none.
    package func applicationsWithDueDeletions() async throws(Failure) -> Set<ApplicationID> {
        let result = try await query(
            "select distinct application_id from federation.deletion_requests where \(Self.deletionIsDue)"
        )
        return try read { () throws(PostgresError) in
            var applications: Set<ApplicationID> = []
            for row in result.rows {
                if let id = ApplicationID(try row.decode(0, as: String.self)) { applications.insert(id) }
            }
            return applications
        }
    }

    /// How long a request is left alone that something stood in the way of.
    package static let secondsBetweenErasures = 600

    private static var deletionIsDue: Statement {
        """
        done is null and due <= now()
            and (attempted is null or attempted < now() - make_interval(secs => \(secondsBetweenErasures)))
        """
    }

    /// Requests that are due, the oldest first.
    package func dueDeletions(of application: Application, limit: Int) async throws(Failure) -> [DueDeletion] {
        let result = try await query(
            """
            select code, provider, object_id from federation.deletion_requests
            where application_id = \(application.id.text) and \(Self.deletionIsDue)
            order by due, code limit \(limit)
            """,
            in: tables(of: application)
        )
        return try read { () throws(PostgresError) in
            var due: [DueDeletion] = []
            for row in result.rows {
                guard let provider = ProviderName(try row.decode(1, as: String.self)) else { continue }
                let user = try row.decode(2, as: UUID?.self).map { ObjectID($0) }
                due.append(
                    DueDeletion(
                        code: try row.decode(0, as: String.self),
                        requester: user.map(DeletionRequester.user) ?? .provider(provider)
                    )
                )
            }
            return due
        }
    }
}

/// A request for deletion whose time has come.
package struct DueDeletion: Sendable {
    package let code: String
    package let requester: DeletionRequester
}

/// Who has asked for a deletion.
package enum DeletionRequester: Sendable {
    /// A provider, for a person who asked there.
    case provider(ProviderName)
    /// The user, of the own account.
    case user(ObjectID)
}

extension StoredDeletionRequest {
    static let columns = "d.code, d.provider, d.requested, d.due, d.done"

    init(_ row: Row) throws(PostgresError) {
        self.init(
            code: try row.decode(0, as: String.self),
            provider: ProviderName(try row.decode(1, as: String.self)),
            requested: try row.decode(2, as: Timestamp.self).milliseconds,
            due: try row.decode(3, as: Timestamp.self).milliseconds,
            done: try row.decode(4, as: Timestamp?.self)?.milliseconds
        )
    }
}
