import Applications
import Description
package import Domain
package import Encodings
import Store

/// The properties of a user, as operators change them.
///
/// They have a tag of their own, which a login that writes another value changes, too: an operator overwrites no unseen
/// value. The e-mail address and the login name are not among them, since they give access to the account. The user or
/// a server changes those, and a mail notifies the former address (decision D20).
extension UserAdministration {
    /// Returns `{name: value}`, with `null` for absent values.
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

    /// Changes properties by the merge patch `{name: value}`.
    ///
    /// - Returns: All properties afterwards.
    /// - Throws: `document_invalid` with all invalid values, `property_missing`, `constraint_violation`.
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
        // The tag of the properties is checked in place of the user's tag.
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

    /// Returns the properties that operators may change.
    fileprivate func writable(in application: Application) -> Resource {
        var object = JSONObject()
        for property in application.writableByOperators {
            object.append(property.name.text, value(of: property.name)?.json ?? .null)
        }
        return Resource(.object(object), tag: EntityTag.of(.object(object)))
    }
}
