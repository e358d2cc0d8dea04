import Applications
import Description
package import Domain
package import Encodings
import Store

/// The properties of a user that operators can change.
///
/// They have an entity tag of their own, other than that of the user. If a login writes another value, the tag changes.
/// An operator therefore overwrites no value without having seen it.
///
/// The e-mail address and the login name are not among these properties, since they give access to the account. The
/// user, or a client with a server key, changes these two, and a mail notifies the former address (decision D20).
extension UserAdministration {
    /// Returns the properties of a user that operators can change: `{name: value}`, with `null` for absent values.
    package func properties(
        of id: String,
        in application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let stored = try await storedUser(id, of: owner)
        try await store.recordReading(.read, of: stored.user.objectID, in: owner.id, by: actor)
        return stored.user.writable(in: owner)
    }

    /// Changes properties of a user by the merge patch `{name: value}`.
    ///
    /// - Returns: All properties that operators can change, with their new values.
    /// - Throws: `document_invalid` with all invalid values, `property_missing`, `constraint_violation`.
    package func changeProperties(
        of id: String,
        in application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let given: GivenProperties
        do throws(DocumentProblems) { given = try owner.given(byOperator: patch) } catch { throw error.failure }
        // The precondition is about the tag of the properties, not about the user's tag.
        let changed = try await change(id, of: application, if: .any, by: actor) { stored, owner in
            try precondition.check(stored.user.writable(in: owner).tag ?? "")
            var news = GivenProperties()
            news.values = given.values.filter { $0.value != stored.user.value(of: $0.property.name) }
            return news.values.isEmpty ? nil : .setProperties(news)
        }
        guard let stored = changed.stored else { throw .noSuchUser }
        if !changed.isRecorded {
            try await store.recordReading(.read, of: stored.user.objectID, in: owner.id, by: actor)
        }
        return stored.user.writable(in: owner)
    }
}

extension User {
    fileprivate func value(of name: PropertyName) -> PropertyValue? {
        properties.first { $0.name == name }?.value
    }

    /// Returns the properties that operators may change, with an entity tag of their own.
    fileprivate func writable(in application: Application) -> Resource {
        var object = JSONObject()
        for property in application.writableByOperators {
            object.append(property.name.text, value(of: property.name)?.json ?? .null)
        }
        return Resource(.object(object), tag: EntityTag.of(.object(object)))
    }
}
