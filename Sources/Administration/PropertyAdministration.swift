import Applications
import Description
package import Domain
package import Encodings
import Mapping
import Providers
import Store

/// Lists, declares, changes and removes the properties of an application's users.
package struct PropertyAdministration: Sendable {
    let kinds: ProviderKinds
    let changes: ApplicationChanges

    /// Returns all properties, the built-in ones included: `{"items": [property], "next": null}`.
    ///
    /// The entity tag of the response is the revision of the application.
    package func list(of application: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let searching = try await PropertySearching(of: stored, store: changes.store)
        return stored.list(stored.properties.map { .object(searching.document(of: $0)) })
    }

    /// Returns a property.
    ///
    /// The shape is `{"name", "type", "required", "clientMappable", "visibleTo", "indexed", "builtIn", "index"?,
    /// "slowSearches"?}`.
    package func read(_ name: String, of application: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let property = try stored.property(name)
        let searching = try await PropertySearching(of: stored, store: changes.store)
        return stored.resource(.object(searching.document(of: property)))
    }

    /// Builds the PostgreSQL indexes that the properties declare, drops all others, and returns all properties.
    ///
    /// - Throws: `conflict` while another instance builds indexes; `conflict` with the cause if an index could not be
    ///   built or dropped.
    package func index(_ application: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        switch try await changes.store.reconcileIndexes(of: stored.place) {
        case .done: return try await list(of: application)
        case .elsewhere: throw Failure(.conflict, "Another instance is building indexes. Read the list later.")
        case .blocked(let cause):
            throw Failure(
                .conflict,
                "Some indexes could not be built or dropped: \(cause). Read the list for details.",
                cause: cause
            )
        }
    }

    /// Declares a property and adds its typed column.
    ///
    /// The declaration is `{"name", "type", "required"?, "clientMappable"?, "visibleTo"?, "indexed"?}`.
    package func declare(
        of application: String,
        _ document: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let property: Property
        do throws(DocumentProblems) {
            var reader = DocumentReader(origin: .request)
            let known = ["name"] + Property.description.shape.names
            guard let object = reader.object(document, at: JSONPointer(), known: known) else { throw reader.problems }
            property = try Property(declaration: object, replacing: nil, reader: &reader)
        } catch {
            throw error.failure
        }
        let changed = try await changes.change(application, if: precondition, by: actor) { stored, columns in
            try stored.checkFree(property.name)
            var desired = DesiredApplication(stored, kinds: kinds)
            desired.properties.append(property)
            return try desired.steps(from: stored, columns: columns, part: property.place)
        }
        guard let changed else { throw .noSuchApplication }
        return await resource(try changed.property(property.name.text), of: changed)
    }

    /// Changes a property by a merge patch.
    ///
    /// The members are `name`, `type` (to a wider one), `required`, `clientMappable`, `visibleTo` and `indexed`. A
    /// change of the name also changes the mappings that write the property.
    package func change(
        _ name: String,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let changed = try await changes.change(application, if: precondition, by: actor) { stored, columns in
            let old = try stored.property(name)
            var reader = DocumentReader(origin: .request)
            let merged = reader.merge(PropertySearching.removed(from: patch), into: old.document, fixed: ["builtIn"])
            let new = try Property(declaration: merged, replacing: old, reader: &reader)
            var desired = DesiredApplication(stored, kinds: kinds)
            if new.name != old.name {
                try stored.checkFree(new.name)
                desired.renameProperty(old.name, to: new.name)
            }
            desired.properties = desired.properties.map { $0.name == new.name ? new : $0 }
            return try desired.steps(from: stored, columns: columns, part: new.place)
        }
        guard let changed else { throw .noSuchApplication }
        let newName = patch.object?["name"]?.string ?? name
        return await resource(try changed.property(newName), of: changed)
    }

    /// Returns the response for a property that was just changed.
    ///
    /// If the database is unavailable now, the response omits the state of the index. It is no error, since the change
    /// is done.
    private func resource(_ property: Property, of changed: StoredApplication) async -> Resource {
        let searching = try? await PropertySearching(of: changed, store: changes.store)
        return changed.resource(.object(searching?.document(of: property) ?? property.document))
    }

    /// Drops a property with all its values.
    ///
    /// `confirmation` must repeat the name.
    ///
    /// - Throws: `conflict` while a mapping writes the property.
    package func remove(
        _ name: String,
        of application: String,
        confirmation: String?,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await changes.change(application, if: precondition, by: actor) { stored, columns in
            let property = try stored.property(name)
            guard let confirmation, confirmation.hasSameBytes(as: property.name.text) else {
                throw Failure.unconfirmed(
                    "Removing a property removes its values of all users",
                    repeating: property.name.text
                )
            }
            guard !property.name.isBuiltIn else {
                throw Failure(.conflict, "The property \(property.name) always exists and cannot be removed.")
            }
            try stored.checkUnmapped(property.name)
            var desired = DesiredApplication(stored, kinds: kinds)
            desired.properties.removeAll { $0.name == property.name }
            return try desired.steps(from: stored, columns: columns, part: property.place)
        }
    }
}

extension Property {
    /// The JSON pointer to the property's declaration in an application document.
    fileprivate var place: JSONPointer { JSONPointer() / "properties" / name.text }
}

extension StoredApplication {
    fileprivate func property(_ name: String) throws(Failure) -> Property {
        guard let property = properties.first(where: { $0.name.text.hasSameBytes(as: name) }) else {
            throw Failure(.notFound, "The application has no property with this name.")
        }
        return property
    }

    fileprivate func checkFree(_ name: PropertyName) throws(Failure) {
        guard !properties.contains(where: { $0.name == name }) else {
            throw Failure(.conflict, "The application already has a property \(name).")
        }
    }

    /// Checks that no mapping writes the property.
    ///
    /// - Throws: `conflict` with the mapping entries that write it.
    fileprivate func checkUnmapped(_ name: PropertyName) throws(Failure) {
        for (provider, mapping) in mappings.sorted(by: { $0.key.text < $1.key.text }) {
            let entries = (try? Mapping(mapping.document))?.entries ?? []
            let writing = entries.enumerated().filter { $0.element.to == name }
            guard !writing.isEmpty else { continue }
            let list = writing.map { position, entry in
                JSONValue.object([
                    "mapping": .string(MappingOrigin.stored.rawValue), "position": .integer(Int64(position)),
                    "from": .string(entry.from.text), "to": .string(entry.to.text),
                ])
            }
            let positions = writing.map { String($0.offset) }.joined(separator: ", ")
            throw Failure(
                .conflict,
                """
                The mapping of \(provider) writes the property \(name), with the entry at position \(positions). \
                Remove it from the mapping first.
                """,
                details: ["entries": .array(list)]
            )
        }
    }
}
