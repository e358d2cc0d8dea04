import Applications
import Store
package import Vocabulary

/// The properties of a user, as operators write them.
///
/// They have a version of their own, which a login that writes another value changes as well: nothing is overwritten
/// that nobody has seen. The address and what people log in by are not among them. Whoever has those gets into the
/// account, so they are changed by the user, or by a server, and the former address is told (decision D20).
extension UserAdministration {
    /// `{name: value}`, `null` for what has none.
    package func properties(
        of id: String,
        in application: String,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let person = try await person(id, of: owner)
        try await store.recordReading(.read, of: person.user.objectID, in: owner.id, by: actor)
        return person.user.writable(in: owner)
    }

    /// Changes some by the merge patch `{name: value}`.
    ///
    /// - Returns: All of them afterwards.
    /// - Throws: `document_invalid` with every value that does not fit, `property_missing`, `constraint_violation`.
    package func changeProperties(
        of id: String,
        in application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let given: GivenProperties
        do throws(DocumentProblems) { given = try owner.given(byOperator: patch) } catch { throw error.failure }
        // Guarded by their own version in place of the user's.
        let changed = try await change(id, of: application, if: .any, by: actor) { person, owner in
            try precondition.check(person.user.writable(in: owner).tag ?? "")
            var news = GivenProperties()
            news.values = given.values.filter { $0.value != person.user.value(of: $0.property.name) }
            return news.values.isEmpty ? nil : .setProperties(news)
        }
        guard let person = changed.person else { throw .noSuchUser }
        if !changed.isRecorded {
            try await store.recordReading(.read, of: person.user.objectID, in: owner.id, by: actor)
        }
        return person.user.writable(in: owner)
    }
}

extension User {
    fileprivate func value(of name: PropertyName) -> PropertyValue? {
        properties.first { $0.name == name }?.value
    }

    /// What operators may write of the user.
    fileprivate func writable(in application: Application) -> Resource {
        var object = JSONObject()
        for property in application.writableByOperators {
            object.append(property.name.text, value(of: property.name)?.json ?? .null)
        }
        return Resource(.object(object), tag: EntityTag.of(.object(object)))
    }
}
