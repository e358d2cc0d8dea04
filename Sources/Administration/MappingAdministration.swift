import Description
package import Domain
package import Encodings
import Mapping
import Providers
import Store

/// Reads, replaces and compares the mappings of an application, for operators.
///
/// A mapping writes fields of a provider's profile to properties of a user. Each change creates a revision of the
/// mapping.
package struct MappingAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let changes: ApplicationChanges

    /// Returns the active mapping of a provider.
    ///
    /// The shape is `{"revision", "entries": [entry], "created", "author", "warnings": [text]}`. The entity tag is the
    /// revision of the application.
    ///
    /// - Throws: `not_found` if there is no mapping.
    package func read(for provider: ProviderName, of application: String) async throws(Failure) -> Resource {
        try await activeMapping(for: provider, of: try await changes.existing(application))
    }

    /// Creates a new revision of a mapping from a list of entries, a dictionary, or an object that has either of them
    /// in `entries`.
    ///
    /// - Parameters:
    ///   - provider: The provider whose fields the mapping reads.
    ///   - application: The application of the mapping.
    ///   - document: The mapping.
    ///   - isStrict: Whether a field that the provider may not have is a problem. Otherwise it is a warning.
    ///   - precondition: The expected state of the application.
    ///   - actor: The operator.
    /// - Returns: The mapping, as `read` returns it.
    /// - Throws: `document_invalid` with all problems, each with its pointer, the entry and its position.
    package func put(
        for provider: ProviderName,
        of application: String,
        _ document: JSONValue,
        strictly isStrict: Bool = false,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let submitted: SubmittedMapping
        do throws(DocumentProblems) { submitted = try SubmittedMapping(document) } catch { throw error.failure }
        return try await setMapping(
            submitted.mapping,
            at: submitted.place,
            for: provider,
            of: application,
            strictly: isStrict,
            if: precondition,
            by: actor
        )
    }

    /// Returns a page of the revisions of a mapping, the newest first.
    ///
    /// A revision is `{"revision", "active", "created", "author"}`.
    package func revisions(
        for provider: ProviderName,
        of application: String,
        _ page: PageRequest
    ) async throws(Failure) -> Page {
        let stored = try await changes.existing(application)
        var before: Int64?
        if let cursor = page.cursor {
            guard let revision = Int64(cursor) else { throw .badCursor }
            before = revision
        }
        let found = try await store.mappingRevisions(
            for: provider,
            of: stored.id,
            before: before,
            limit: page.limit + 1
        )
        return page.page(of: found, cursor: { String($0.revision) }) { revision in
            .object([
                "revision": .integer(revision.revision), "active": .bool(revision.isActive),
                "created": .integer(revision.created), "author": revision.author.map(JSONValue.string) ?? .null,
            ])
        }
    }

    /// Returns one revision of a mapping: `{"revision", "active", "entries", "created", "author"}`.
    package func revision(
        _ revision: Int64,
        for provider: ProviderName,
        of application: String
    ) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let found = try await self.revision(revision, for: provider, of: stored.id)
        return stored.resource(
            .object([
                "revision": .integer(found.revision), "active": .bool(found.isActive), "entries": found.listed,
                "created": .integer(found.created), "author": found.author.map(JSONValue.string) ?? .null,
            ])
        )
    }

    /// Returns the diff of two revisions of a mapping.
    ///
    /// The shape is `{"from", "to", "added": [entry], "removed": [entry], "changed": [{"to", "from", "into"}]}`. Two
    /// entries that write the same property are compared with each other.
    package func difference(
        from: Int64,
        to: Int64,
        for provider: ProviderName,
        of application: String
    ) async throws(Failure) -> JSONValue {
        let id = try await changes.existing(application).id
        let old = try await revision(from, for: provider, of: id).entries
        let new = try await revision(to, for: provider, of: id).entries
        let changed = new.compactMap { entry -> JSONValue? in
            guard let former = old.first(where: { $0.to == entry.to }), former != entry else { return nil }
            return .object(["to": .string(entry.to.text), "from": former.json, "into": entry.json])
        }
        func alone(_ entries: [MappingEntry], without others: [MappingEntry]) -> JSONValue {
            .array(entries.filter { entry in !others.contains { $0.to == entry.to } }.map(\.json))
        }
        return .object([
            "from": .integer(from), "to": .integer(to), "added": alone(new, without: old),
            "removed": alone(old, without: new), "changed": .array(changed),
        ])
    }

    /// Creates a new revision of a mapping with the entries of an old revision.
    ///
    /// The entries must fit the current properties of the application.
    package func rollBack(
        for provider: ProviderName,
        of application: String,
        to revision: Int64,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let old = try await self.revision(revision, for: provider, of: stored.id)
        return try await setMapping(
            old.document,
            at: JSONPointer(),
            for: provider,
            of: application,
            if: precondition,
            by: actor
        )
    }

    /// Makes a mapping the active one of its provider.
    ///
    /// If it is active already, nothing changes. `place` is the JSON pointer to the mapping in the request, for error
    /// messages.
    private func setMapping(
        _ mapping: JSONValue,
        at place: JSONPointer,
        for provider: ProviderName,
        of application: String,
        strictly isStrict: Bool = false,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let part = JSONPointer() / "mapping" / provider.text
        let changed = try await changes.change(application, if: precondition, by: actor) { stored, columns in
            var desired = DesiredApplication(stored, kinds: kinds)
            desired.mappings[provider] = mapping
            if isStrict {
                var doubts = DocumentProblems()
                doubts.add(stored.doubts(of: mapping, for: provider, kinds), ofMappingAt: place)
                guard doubts.isEmpty else { throw doubts }
            }
            return try desired.steps(from: stored, columns: columns, part: part, at: place)
        }
        guard let changed else { throw .noSuchApplication }
        return try await activeMapping(for: provider, of: changed)
    }

    private func activeMapping(
        for provider: ProviderName,
        of stored: StoredApplication
    ) async throws(Failure) -> Resource {
        guard let revision = stored.mappings[provider]?.revision else {
            throw Failure(.notFound, "The application has no mapping. Without one a login writes no properties.")
        }
        let active = try await self.revision(revision, for: provider, of: stored.id)
        let warnings = stored.doubts(of: active.document, for: provider, kinds).map(\.message)
        return stored.resource(
            .object([
                "revision": .integer(active.revision), "entries": active.listed, "created": .integer(active.created),
                "author": active.author.map(JSONValue.string) ?? .null,
                "warnings": .array(warnings.map(JSONValue.string)),
            ])
        )
    }

    private func revision(
        _ revision: Int64,
        for provider: ProviderName,
        of id: ApplicationID
    ) async throws(Failure) -> StoredMapping {
        guard let found = try await store.mappingRevision(revision, for: provider, of: id) else {
            throw Failure(.notFound, "The mapping does not have this revision.")
        }
        return found
    }
}

extension StoredApplication {
    /// Returns the entries of a mapping that read a field which the provider is not known to have.
    fileprivate func doubts(
        of mapping: JSONValue,
        for provider: ProviderName,
        _ kinds: ProviderKinds
    ) -> [MappingProblem] {
        let kind = kinds.named(providers[provider]?.kind ?? provider)
        return kind.map { MappingCheck.warnings(of: mapping, fields: $0.fields) } ?? []
    }
}

extension StoredMapping {
    fileprivate var entries: [MappingEntry] { (try? Mapping(document))?.entries ?? [] }

    /// The entries of the mapping as a list, with the members of each entry in the usual order.
    ///
    /// PostgreSQL's type `jsonb` does not keep the order of members.
    fileprivate var listed: JSONValue { (try? Mapping(document))?.json ?? document }
}

/// A mapping that an operator sent in a request.
///
/// The body of the request is the mapping itself, or an object with the mapping in the member `entries`. An operator
/// who reads a mapping gets such an object.
private struct SubmittedMapping {
    let mapping: JSONValue
    /// The JSON pointer to the mapping in the body of the request.
    let place: JSONPointer

    init(_ document: JSONValue) throws(DocumentProblems) {
        // In the form of a dictionary, the member `entries` maps a field of this name to a property, and its value is a
        // string.
        guard let object = document.object, let entries = object["entries"], entries.string == nil else {
            mapping = document
            place = JSONPointer()
            return
        }
        var reader = DocumentReader(origin: .request)
        let known = ["revision", "active", "entries", "created", "author", "warnings"]
        _ = reader.object(document, at: JSONPointer(), known: known)
        try reader.check()
        mapping = entries
        place = JSONPointer() / "entries"
    }
}
