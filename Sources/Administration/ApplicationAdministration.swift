import Applications
import Description
package import Domain
package import Encodings
import Providers
import Store

/// Lists, reads, creates, changes and deletes applications for operators.
package struct ApplicationAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let changes: ApplicationChanges

    /// Returns a page of the applications' summaries, in the order of the applications' ids.
    package func list(_ page: PageRequest) async throws(Failure) -> Page {
        var after: ApplicationID?
        if let cursor = page.cursor {
            guard let id = ApplicationID(cursor) else { throw .badCursor }
            after = id
        }
        let found = try await store.applications(after: after, limit: page.limit + 1)
        return page.page(of: found, cursor: \.id.text) { .object($0.overview(kinds)) }
    }

    /// Returns an application.
    ///
    /// Its shape is `{"application", "name", "schema", "database": {"env"} or null, "settings": {…all of them…},
    /// "revision", "created", "updated", "warnings": [text]}`.
    package func read(_ id: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(id)
        return stored.resource(.object(stored.overview(kinds)))
    }

    /// Creates an application and its PostgreSQL schema.
    ///
    /// - Parameters:
    ///   - document: `{"application", "name"?, "schema"?, "database"?, "settings"?}`.
    ///   - node: The Citus node for the application's tables. With nil, Citus decides.
    ///   - actor: The operator.
    /// - Returns: The application.
    /// - Throws: `document_invalid` with all problems; `conflict` if the id or the schema is taken, or if the node does
    ///   not exist.
    package func create(
        _ document: JSONValue,
        on node: String? = nil,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let node = try node.map { text throws(Failure) in
            guard let node = CitusNode(text) else { throw Failure(.malformedRequest, "Write the node as host:port.") }
            return node
        }
        let desired: DesiredApplication
        do throws(DocumentProblems) { desired = try DesiredApplication(creating: document, kinds: kinds) } catch {
            throw error.failure
        }
        if let node {
            guard desired.database == nil else {
                throw Failure(
                    .malformedRequest,
                    "An application can have its own database or a Citus node, not both."
                )
            }
            try await store.check(node)
        }
        let created = try await changing {
            try await changes.change(desired.id, by: actor) { stored, columns in
                guard stored == nil else {
                    throw Failure(.conflict, "The application \(desired.id) already exists.")
                }
                return try desired.steps(from: nil, columns: columns)
            }
        }
        guard let created else { throw .noSuchApplication }
        if let node { try await store.place(created, on: node) }
        return created.resource(.object(created.overview(kinds)))
    }

    /// Changes `name`, `database` and `settings` of an application by a JSON Merge Patch.
    ///
    /// `null` resets a setting to its default.
    package func change(
        _ id: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let kinds = kinds
        let changed = try await changes.edit(id, if: precondition, by: actor) { desired, stored in
            var reader = DocumentReader(origin: .request)
            let current = stored.overview(kinds)
            let merged = reader.merge(
                patch,
                into: current,
                fixed: ["application", "schema", "revision", "created", "updated", "warnings"]
            )
            let settings = JSONPointer() / "settings"
            // The merge has removed the settings that the patch sets to null. Their names are therefore checked here.
            for member in patch.object?["settings"]?.object?.members ?? [] where member.value.isNull {
                guard current["settings"]?.object?[member.key] == nil else { continue }
                reader.problems.add(
                    unknown: member.key,
                    at: settings / member.key,
                    among: ApplicationSettings.description.shape.names,
                    "is not a setting"
                )
            }
            desired.name = reader.text(merged["name"], at: JSONPointer() / "name") ?? stored.id.text
            let database = JSONPointer() / "database"
            desired.database = reader.database(merged["database"] ?? .null, at: database).database(of: stored)
            desired.settings = ApplicationSettings.description.read(
                merged["settings"] ?? .object([:]),
                at: settings,
                problems: &reader.problems
            )
            try reader.check()
        }
        return changed.resource(.object(changed.overview(kinds)))
    }

    /// Deletes an application with all its contents, its users included.
    ///
    /// `confirmation` must repeat the id.
    package func delete(
        _ id: String,
        confirmation: String?,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await changes.change(id, if: precondition, by: actor) { stored, _ in
            guard let confirmation, confirmation.hasSameBytes(as: stored.id.text) else {
                throw Failure.unconfirmed(
                    "Deleting an application deletes its users, its sessions and its keys",
                    repeating: stored.id.text
                )
            }
            return ConfigurationDifference.deletion(of: stored)
        }
    }
}

extension DesiredApplication {
    /// Reads an operator's document for a new application.
    ///
    /// The document cannot contain keys, providers, properties or mappings. Operators add them later, one by one.
    ///
    /// - Throws: All problems, each with its position in the document.
    fileprivate init(creating document: JSONValue, kinds: ProviderKinds) throws(DocumentProblems) {
        let known = ["application", "name", "schema", "database", "settings"]
        var reader = DocumentReader(origin: .request)
        guard let object = reader.object(document, at: JSONPointer(), known: known) else { throw reader.problems }
        let read = object.members.filter { member in known.contains { $0.hasSameBytes(as: member.key) } }
        do throws(DocumentProblems) {
            let document = try ApplicationDocument(.object(JSONObject(read)), origin: .request, kinds: kinds)
            self.init(id: document.id, name: document.name, schema: document.schema, kinds: kinds)
            database = document.database.database(of: nil)
            settings = document.settings
        } catch {
            reader.problems.add(error)
            throw reader.problems
        }
        try reader.check()
    }
}

extension DatabaseVariable {
    /// The name of the environment variable as an application document has it: `{"env": name}`.
    var json: JSONValue { .object(["env": .string(text)]) }
}

extension StoredApplication {
    /// Returns the summary of the application for operators.
    func overview(_ kinds: ProviderKinds) -> JSONObject {
        let settings = (try? SettingsDocument.parse(stored: settings)) ?? ApplicationSettings()
        let mappingWarnings = kinds.mappingWarnings(mappings.mapValues(\.document)) { providers[$0]?.kind }
        return [
            "application": .string(id.text), "name": .string(name), "schema": .string(schema),
            "database": database?.json ?? .null,
            "settings": SettingsDocument.document(of: settings), "revision": .integer(revision),
            "created": .integer(created), "updated": updated.map(JSONValue.integer) ?? .null,
            "warnings": .array((settings.warnings + mappingWarnings).map(JSONValue.string)),
        ]
    }
}
