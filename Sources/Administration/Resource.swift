import Applications
import Mapping
import Providers
import Secrets
package import Store
package import Vocabulary

/// Something that operators look at and change.
package struct Resource: Sendable {
    package let body: JSONValue
    /// The entity tag without its quotes; nil where there is nothing to guard.
    package let tag: String?

    package init(_ body: JSONValue, tag: String?) {
        self.body = body
        self.tag = tag
    }
}

/// A part of a list.
package struct Page: Sendable {
    package let items: [JSONValue]
    /// The cursor of the next page; nil when this is the last.
    package let next: String?
    /// Further members of the reply, about the list as a whole.
    package let facts: JSONObject

    package init(items: [JSONValue], next: String?, facts: JSONObject = JSONObject()) {
        self.items = items
        self.next = next
        self.facts = facts
    }

    /// As replies carry it.
    package var json: JSONValue {
        let members: JSONObject = ["items": .array(items), "next": next.map(JSONValue.string) ?? .null]
        return .object(JSONObject(members.members + facts.members))
    }
}

/// Which part of a list is wanted.
package struct PageRequest: Sendable {
    package static let mostItems = 200
    package static let usualItems = 50

    package let limit: Int
    /// What `Page.next` was.
    package let cursor: String?

    /// Takes what a caller asked for.
    ///
    /// - Throws: `malformed_request` for a limit beyond 1 to 200.
    package init(limit: Int? = nil, cursor: String? = nil) throws(Failure) {
        let limit = limit ?? Self.usualItems
        guard (1...Self.mostItems).contains(limit) else {
            throw Failure(.malformedRequest, "limit must be a whole number from 1 to \(Self.mostItems).")
        }
        self.limit = limit
        self.cursor = cursor
    }

    /// A page of a list of which one element more than asked for was read, so that it is known whether there are more.
    package func page<Element>(
        of elements: [Element],
        cursor: (Element) -> String,
        _ json: (Element) -> JSONValue
    ) -> Page {
        let shown = elements.prefix(limit)
        return Page(items: shown.map(json), next: elements.count > limit ? shown.last.map(cursor) : nil)
    }
}

/// What must be so for a change to happen: `If-Match` of RFC 9110.
package enum Precondition: Sendable {
    /// None was given: the change is refused, since nobody can know what it would overwrite.
    case missing
    /// Whatever there is now.
    case any
    /// The resource has one of these tags.
    case tags([String])

    /// Holds a resource's tag against it.
    ///
    /// - Throws: `precondition_required`, `precondition_failed`.
    package func check(_ tag: String) throws(Failure) {
        switch self {
        case .any: return
        case .missing:
            throw Failure(
                .preconditionRequired,
                "This change needs the header If-Match with the ETag that you read, or * to overwrite whatever is there."
            )
        case .tags(let tags):
            guard tags.contains(where: { $0.hasSameBytes(as: tag) }) else {
                throw Failure(
                    .preconditionFailed,
                    "Somebody has changed this since you read it. Read it again and repeat the change.",
                    details: ["etag": .string(EntityTag.written(tag))]
                )
            }
        }
    }
}

extension Failure {
    /// A cursor is handed back as it was received.
    static let badCursor = Failure(.malformedRequest, "cursor must be what next was on the page before.")
}

/// Entity tags: how they are written, and those of what has no revision.
package enum EntityTag {
    /// A tag as `ETag` and `If-Match` have it.
    package static func written(_ tag: String) -> String { "\"\(tag)\"" }

    /// The first 24 hex digits of SHA-256 over the value as JSON.
    ///
    /// The value holds what an operator's change may overwrite, and nothing that changes without an operator: a login
    /// between reading and changing must not make the change fail.
    package static func of(_ value: JSONValue) -> String {
        Hexadecimal.encode(Digest.sha256(value.text).prefix(12))
    }
}

extension DocumentReader {
    /// What a merge patch makes of a resource.
    ///
    /// Whoever changes what was read may send all of it back, so members that cannot change may come along as they are.
    ///
    /// - Parameters:
    ///   - patch: A JSON Merge Patch; problems are noted for members that the resource does not have.
    ///   - current: The resource as operators read it.
    ///   - fixed: The members that cannot be changed this way.
    /// - Returns: The resource after the patch; without members that were set to `null`.
    mutating func merge(_ patch: JSONValue, into current: JSONObject, fixed: [String]) -> JSONObject {
        let document = JSONPointer()
        guard let changes = object(patch, at: document, known: current.members.map(\.key)) else { return current }
        for name in fixed {
            guard let change = changes[name], change != current[name] else { continue }
            problems.add(document / name, "cannot be changed")
        }
        return JSONValue.object(current).merging(patch: patch).object ?? current
    }

    /// Hands on what was read.
    ///
    /// - Throws: The problems that were found.
    func check() throws(DocumentProblems) {
        guard problems.isEmpty else { throw problems }
    }
}

/// Days and moments as operators write them in a question.
package enum Moment {
    /// Milliseconds since 1970 from a text of them, or of RFC 3339; nil for every other text, and outside the years 1
    /// to 9999.
    package static func read(_ text: String) -> Int64? {
        guard let milliseconds = Int64(text) else { return MomentText.read(text) }
        let seconds = milliseconds / 1000
        return MomentText.moment(seconds: seconds, milliseconds: milliseconds - seconds * 1000)
    }

    /// The day that `YYYY-MM-DD` names.
    static func readDay(_ text: String) -> CalendarDate? {
        guard let midnight = MomentText.read(text + "T00:00:00Z") else { return nil }
        return CalendarDate(daysSince1970: Int(midnight / 86_400_000))
    }
}

/// How every change of an application goes: read, checked against a precondition, made what it shall be, and followed
/// by the copy in memory.
struct ApplicationChanges: Sendable {
    let store: Store
    let kinds: ProviderKinds
    /// The master key that secrets are sealed under.
    let masterKeyID: String
    /// The copy of the configuration by which this process serves; nil in one that serves nobody.
    let directory: ApplicationDirectory?

    /// Changes an application, as `Store.change` does, and has the change count in this process before anybody is told
    /// of it.
    func change(
        _ id: ApplicationID,
        by actor: Actor,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        let changed = try await store.change(id, by: actor, sealing: masterKeyID, plan: plan)
        await directory?.follow(changeOf: id)
        return changed
    }

    /// The application that an id from outside names.
    ///
    /// - Throws: `not_found`, with one text for ids that are unknown and those that cannot be one.
    func existing(_ id: String) async throws(Failure) -> StoredApplication {
        guard let id = ApplicationID(id), let stored = try await store.application(id) else {
            throw .noSuchApplication
        }
        return stored
    }

    /// Changes an application that is as the precondition says.
    ///
    /// The plan gets the application and the columns of its live users table. `DocumentProblems` that it throws are
    /// those of what was submitted.
    ///
    /// - Returns: The application as it is afterwards; nil when it was deleted.
    /// - Throws: `not_found`, `precondition_failed`, `document_invalid`, and what the plan throws.
    func change(
        _ id: String,
        if precondition: Precondition,
        by actor: Actor,
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

    /// Changes a part of an application: the closure edits what it shall be, and gets what it is.
    ///
    /// The part is where in an application document that stands which was submitted. Gives the application as it is
    /// afterwards.
    func edit(
        _ id: String,
        part: JSONPointer = JSONPointer(),
        if precondition: Precondition,
        by actor: Actor,
        _ edit: @escaping @Sendable (inout DesiredApplication, StoredApplication) throws -> Void
    ) async throws(Failure) -> StoredApplication {
        let changed = try await change(id, if: precondition, by: actor) { stored, _ in
            var desired = DesiredApplication(stored, kinds: kinds)
            try edit(&desired, stored)
            // Without the live table: a column that somebody changed by hand must not keep a key from being revoked.
            return try desired.steps(from: stored, columns: [], part: part)
        }
        guard let changed else { throw .noSuchApplication }
        return changed
    }
}

/// Runs a change of the store, whose plan may throw anything, as one that fails in our words.
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
    /// The steps that make the application so, or everything that is wrong by its place in what was submitted.
    ///
    /// The part is where in an application document that stands which was submitted, the place where in what was
    /// submitted.
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
    /// The entity tag of everything that belongs to the application.
    package var tag: String { String(revision) }

    /// A part of the application.
    package func resource(_ body: JSONValue) -> Resource { Resource(body, tag: tag) }

    /// All of a kind that belong to the application; there are few, so there is one page.
    package func list(_ items: [JSONValue]) -> Resource { resource(Page(items: items, next: nil).json) }
}

extension Failure {
    static let noSuchApplication = Failure(.notFound, "There is no such application.")

    /// Something that cannot be undone was asked for without repeating a word.
    ///
    /// The loss begins a sentence: `Deleting an application deletes its users`.
    package static func unconfirmed(_ loss: String, repeating word: String) -> Failure {
        Failure(.malformedRequest, "\(loss) and cannot be undone. Confirm it by repeating the name: ?confirm=\(word)")
    }
}
