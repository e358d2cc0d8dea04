package import Domain
package import Encodings
import FoundationEssentials
import Postgres

/// A deletion request that a user made at a provider, which passed it on by a callback.
package struct NewDeletionRequest: Sendable {
    let code: String
    let hash: [UInt8]
    let call: [UInt8]
    let identity: IdentityKey
    let issued: Int64
    let days: Int64

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - code: The code for the user: 26 random characters of `A`–`Z` and `2`–`7`.
    ///   - hash: A SHA-256 hash that stays the same if the request arrives again.
    ///   - call: A SHA-256 hash that is the same for all requests of one callback.
    ///   - identity: The identity whose data is to be deleted.
    ///   - issued: The Unix time in seconds at which the provider signed the request.
    ///   - days: The delay of the erasure in days of 24 hours.
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

/// The state of a deletion request, without any data of the user.
package struct StoredDeletionRequest: Sendable {
    package let code: String
    /// The requesting provider; nil if the stored text is no provider name.
    package let provider: ProviderName?
    /// The time of the request, in milliseconds since 1970 UTC.
    package let requested: Int64
    /// The time at which the erasure is due.
    package let due: Int64
    /// The time of the erasure; nil if it has not been done.
    package let done: Int64?
}

extension Store {
    /// Stores all requests of a callback in one transaction.
    ///
    /// Requests that are stored already stay as they are.
    ///
    /// - Parameters:
    ///   - requests: The requests, ordered by provider name, so that no two callbacks deadlock.
    ///   - application: The application that received the callback.
    /// - Returns: The stored requests in that order, each with the code of its first arrival.
    /// - Throws: `store_unavailable` and similar failures. Nothing is written then.
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
        // The update changes nothing, but makes the statement return an existing row.
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
        guard let stored = try result.first(by: StoredDeletionRequest.init) else {
            throw Failure(.internal, "The deletion request could not be stored.")
        }
        return stored
    }

    /// Returns the deletion request with the given code; nil if there is none.
    ///
    /// A callback may have made several requests. The result is due when the last of them is due, and done when all are
    /// done.
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
        return try result.first(by: StoredDeletionRequest.init)
    }

    /// Returns whether an identity is the only login method of its user; nil if no user has the identity.
    ///
    /// Other identities and a password are considered; passkeys are not.
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
        return try result.first(Bool.self)
    }

    /// Records in the audit log that an erasure by a list of ids has begun or ended.
    ///
    /// The list has the ids at a provider (subjects) of the users to erase.
    package func recordErasureList(
        _ details: JSONObject,
        of application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let entry = AuditRecord("user.eraseList", in: application.id, to: .object(details))
        let tables = tables(of: application)
        try await transaction(in: tables) { try await tables.record([entry], by: actor, with: $0) }
    }

    /// Returns the applications that have due requests in the main database.
    ///
    /// Most applications have none.
    package func applicationsWithDueDeletions() async throws(Failure) -> Set<ApplicationID> {
        let result = try await query(
            "select distinct application_id from federation.deletion_requests where \(Self.deletionIsDue)"
        )
        return Set(try result.all(String.self).compactMap { ApplicationID($0) })
    }

    /// The seconds between a failed attempt at an erasure and the next one.
    package static let secondsBetweenErasures = 600

    private static var deletionIsDue: Statement {
        """
        done is null and due <= now()
            and (attempted is null or attempted < now() - make_interval(secs => \(secondsBetweenErasures)))
        """
    }

    /// Returns the deletion requests of an application that are due, the oldest first.
    package func dueDeletions(of application: Application, limit: Int) async throws(Failure) -> [DueDeletion] {
        let result = try await query(
            """
            select code, provider, object_id from federation.deletion_requests
            where application_id = \(application.id.text) and \(Self.deletionIsDue)
            order by due, code limit \(limit)
            """,
            in: tables(of: application)
        )
        return try result.all(String.self, String.self, ObjectID?.self).compactMap { code, provider, user in
            guard let provider = ProviderName(provider) else { return nil }
            return DueDeletion(code: code, requester: user.map(DeletionRequester.user) ?? .provider(provider))
        }
    }
}

/// A deletion request that is due.
package struct DueDeletion: Sendable {
    package let code: String
    package let requester: DeletionRequester
}

/// The requester of a deletion.
package enum DeletionRequester: Sendable {
    /// A provider, on behalf of a user who asked there.
    case provider(ProviderName)
    /// The user, for the user's own account.
    case user(ObjectID)
}

extension StoredDeletionRequest {
    static let columns = "d.code, d.provider, d.requested, d.due, d.done"

    init(_ row: inout Row) throws(PostgresError) {
        self.init(
            code: try row.next(),
            provider: ProviderName(try row.next(String.self)),
            requested: try row.next(Timestamp.self).milliseconds,
            due: try row.next(Timestamp.self).milliseconds,
            done: try row.next(Timestamp?.self)?.milliseconds
        )
    }
}
