import Applications
package import Description
package import Domain
package import Encodings
import Mapping
import Providers
import Secrets
package import Store

/// A resource of the administration API in a response: its JSON and its entity tag.
package struct Resource: Sendable {
    package let body: JSONValue
    /// The entity tag without quotes; nil for a resource whose changes need no precondition.
    package let tag: String?

    package init(_ body: JSONValue, tag: String?) {
        self.body = body
        self.tag = tag
    }
}

/// A page of a list.
package struct Page: Sendable {
    package let items: [JSONValue]
    /// The cursor of the next page; nil on the last page.
    package let next: String?
    /// Further members of the response beside `items` and `next`.
    ///
    /// They are about the whole list, not about this page.
    package let facts: JSONObject

    package init(items: [JSONValue], next: String?, facts: JSONObject = JSONObject()) {
        self.items = items
        self.next = next
        self.facts = facts
    }

    /// The page as a JSON object: `items`, `next` and the members of `facts`.
    package var json: JSONValue {
        let members: JSONObject = ["items": .array(items), "next": next.map(JSONValue.string) ?? .null]
        return .object(JSONObject(members.members + facts.members))
    }
}

/// The part of a list that a request asks for: where it begins, and its maximum number of items.
package struct PageRequest: Sendable {
    package static let maxItems = 200
    package static let usualItems = 50

    package let limit: Int
    /// The value of `Page.next` on the previous page.
    package let cursor: String?

    /// Creates the request for a page, and checks the limit.
    ///
    /// - Throws: `malformed_request` for a limit outside 1 to 200.
    package init(limit: Int? = nil, cursor: String? = nil) throws(Failure) {
        let limit = limit ?? Self.usualItems
        guard (1...Self.maxItems).contains(limit) else {
            throw Failure(.malformedRequest, "limit must be a whole number from 1 to \(Self.maxItems).")
        }
        self.limit = limit
        self.cursor = cursor
    }

    /// Returns a page with the first elements, up to the limit.
    ///
    /// `elements` may have one element more than the limit. This element is not on the page, but shows that a next page
    /// exists.
    package func page<Element>(
        of elements: [Element],
        cursor: (Element) -> String,
        _ json: (Element) -> JSONValue
    ) -> Page {
        let shown = elements.prefix(limit)
        return Page(items: shown.map(json), next: elements.count > limit ? shown.last.map(cursor) : nil)
    }
}

/// The precondition of a change: `If-Match` of RFC 9110.
package enum Precondition: Sendable {
    /// The request has no precondition. Its change is refused, since it might overwrite a state that the client has not
    /// seen.
    case missing
    /// The resource may have any state: `If-Match: *`.
    case any
    /// The resource must have one of these entity tags: `If-Match: "17"`.
    case tags([String])

    /// Checks the precondition against a resource's tag.
    ///
    /// - Throws: `precondition_required`, `precondition_failed`.
    package func check(_ tag: String) throws(Failure) {
        switch self {
        case .any: return
        case .missing:
            throw Failure(
                .preconditionRequired,
                "This change needs the header If-Match, with the ETag that you read, or * to overwrite any version."
            )
        case .tags(let tags):
            guard tags.contains(where: { $0.hasSameBytes(as: tag) }) else {
                throw Failure(
                    .preconditionFailed,
                    "Another operator changed this since you read it. Read it again, and repeat the change.",
                    details: ["etag": .string(EntityTag.written(tag))]
                )
            }
        }
    }
}

extension Failure {
    /// The error for a cursor that no previous page returned.
    static let badCursor = Failure(.malformedRequest, "cursor must be next of the previous page.")
}

/// Writes entity tags, and computes those of resources without a revision.
package enum EntityTag {
    /// Returns an entity tag in the syntax of the headers `ETag` and `If-Match`.
    package static func written(_ tag: String) -> String { "\"\(tag)\"" }

    /// Returns the entity tag of a value: the first 24 hex digits of the SHA-256 of its JSON.
    ///
    /// The value must have all members that an operator's change may overwrite, and no others. With other members, such
    /// as the time of the last login, a login would change the tag. A change by an operator who read the value before
    /// would then be refused.
    package static func of(_ value: JSONValue) -> String {
        Hexadecimal.encode(Digest.sha256(value.text).prefix(12))
    }
}

extension DocumentReader {
    /// Applies a merge patch to a resource, and returns the result.
    ///
    /// A client may send back all members that it read. Members that cannot change are therefore accepted with their
    /// current values.
    ///
    /// - Parameters:
    ///   - patch: A JSON Merge Patch. Each member that is missing in the resource is a problem.
    ///   - current: The resource as operators read it.
    ///   - fixed: The members that cannot be changed.
    /// - Returns: The resource after the patch. Members that the patch sets to `null` are absent.
    mutating func merge(_ patch: JSONValue, into current: JSONObject, fixed: [String]) -> JSONObject {
        let document = JSONPointer()
        guard let changes = object(patch, at: document, known: current.members.map(\.key)) else { return current }
        for name in fixed {
            guard let change = changes[name], change != current[name] else { continue }
            problems.add(document / name, "cannot be changed")
        }
        return JSONValue.object(current).merging(patch: patch).object ?? current
    }

    /// Throws the problems that were found, if any.
    func check() throws(DocumentProblems) {
        guard problems.isEmpty else { throw problems }
    }
}

/// Reads days and times in operators' requests.
package enum Moment {
    /// Reads milliseconds since 1970, or an RFC 3339 time; nil for other texts, and outside the years 1 to 9999.
    package static func read(_ text: String) -> Int64? {
        guard let milliseconds = Int64(text) else { return MomentText.read(text) }
        let seconds = milliseconds / 1000
        return MomentText.moment(seconds: seconds, milliseconds: milliseconds - seconds * 1000)
    }

    /// Reads a day of the form `YYYY-MM-DD`.
    static func readDay(_ text: String) -> CalendarDate? {
        guard let midnight = MomentText.read(text + "T00:00:00Z") else { return nil }
        return CalendarDate(daysSince1970: Int(midnight / 86_400_000))
    }
}

/// The common steps of all changes of applications.
///
/// They are: read the application, check the precondition, execute the steps to the desired state, update the cache.
struct ApplicationChanges: Sendable {
    let store: Store
    let kinds: ProviderKinds
    /// The id of the master key that encrypts secrets.
    let masterKeyID: String
    /// The cached configuration of this process; nil in a process that serves no requests.
    let directory: ApplicationDirectory?

    /// Changes an application in the database by `Store.change`.
    ///
    /// Updates the cached configuration of this process before it returns.
    func change(
        _ id: ApplicationID,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        let changed = try await store.change(id, by: actor, masterKey: masterKeyID, plan: plan)
        await directory?.follow(changeOf: id)
        return changed
    }

    /// Returns the application whose id is in a request.
    ///
    /// - Throws: `not_found`, with the same message for unknown and invalid ids.
    func existing(_ id: String) async throws(Failure) -> StoredApplication {
        guard let id = ApplicationID(id), let stored = try await store.application(id) else {
            throw .noSuchApplication
        }
        return stored
    }

    /// Changes an application if its entity tag meets the precondition.
    ///
    /// The closure `plan` gets the stored application and the current columns of its users table, and returns the steps
    /// of the change. If it throws `DocumentProblems`, each problem must have a position in the request.
    ///
    /// - Returns: The application afterwards; nil after its deletion.
    /// - Throws: `not_found`, `precondition_failed`, `document_invalid`, and the errors of `plan`.
    func change(
        _ id: String,
        if precondition: Precondition,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredApplication, [LiveColumn]) throws -> [PlannedChange]
    ) async throws(Failure) -> StoredApplication? {
        guard let id = ApplicationID(id) else { throw .noSuchApplication }
        return try await changing {
            try await change(id, by: actor) { stored, columns in
                guard let stored else { throw Failure.noSuchApplication }
                try precondition.check(stored.tag)
                return try plan(stored, columns)
            }
        }
    }

    /// Changes a part of an application's configuration, such as its API keys.
    ///
    /// The closure `edit` changes the desired configuration. It also gets the stored one.
    ///
    /// `part` is the JSON pointer to the changed part in an application document. The request contains only this part,
    /// so the positions of problems are relative to it.
    ///
    /// - Returns: The application afterwards.
    func edit(
        _ id: String,
        part: JSONPointer = JSONPointer(),
        if precondition: Precondition,
        by actor: ChangeAuthor,
        _ edit: @escaping @Sendable (inout DesiredApplication, StoredApplication) throws -> Void
    ) async throws(Failure) -> StoredApplication {
        let changed = try await change(id, if: precondition, by: actor) { stored, _ in
            var desired = DesiredApplication(stored, kinds: kinds)
            try edit(&desired, stored)
            // The live table is ignored. A column that was changed manually must not keep a key from being revoked.
            return try desired.steps(from: stored, columns: [], part: part)
        }
        guard let changed else { throw .noSuchApplication }
        return changed
    }
}

/// Runs a change of the database, and converts all errors to `Failure`.
func changing<Result>(_ change: () async throws -> Result) async throws(Failure) -> Result {
    do {
        return try await change()
    } catch let failure as Failure {
        throw failure
    } catch let problems as DocumentProblems {
        throw problems.failure
    } catch {
        throw Failure(.internal, "The change could not be made.", cause: "\(error)")
    }
}

extension DesiredApplication {
    /// Returns the steps from the stored configuration of an application to this desired one.
    ///
    /// The request may contain only a part of an application document. `part` points to this part in a whole
    /// application document, and `place` points to it in the request.
    ///
    /// - Throws: All problems, each with its position in the request.
    package func steps(
        from stored: StoredApplication?,
        columns: [LiveColumn],
        part: JSONPointer = JSONPointer(),
        at place: JSONPointer = JSONPointer()
    ) throws(DocumentProblems) -> [PlannedChange] {
        do throws(DocumentProblems) {
            return try ConfigurationDifference.changes(from: stored, to: self, columns: columns)
        } catch {
            throw error.moved(from: part, to: place)
        }
    }
}

extension StoredApplication {
    /// The entity tag of the application and all its parts.
    package var tag: String { String(revision) }

    /// Returns a part of the application as a resource.
    package func resource(_ body: JSONValue) -> Resource { Resource(body, tag: tag) }

    /// Returns a list of parts of the application, such as its API keys, as a resource.
    ///
    /// The parts are few, so one page is enough.
    package func list(_ items: [JSONValue]) -> Resource { resource(Page(items: items, next: nil).json) }
}

extension Failure {
    static let noSuchApplication = Failure(.notFound, "This application does not exist.")

    /// Returns the error for an irreversible request without a confirmation.
    ///
    /// `loss` is the beginning of the message, such as `Deleting an application deletes its users`. `word` is the text
    /// that the parameter `confirm` must have.
    package static func unconfirmed(_ loss: String, repeating word: String) -> Failure {
        Failure(.malformedRequest, "\(loss) and cannot be undone. To confirm, repeat the name: ?confirm=\(word)")
    }
}
