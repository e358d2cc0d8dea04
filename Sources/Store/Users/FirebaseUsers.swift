package import Domain
import Encodings
import Postgres

extension Store {
    /// Returns the user whom Firebase's clients name by a uid; nil if there is none.
    ///
    /// - Parameters:
    ///   - uid: The uid that was given to the user, or else the object id, as ``ObjectID/description`` writes it.
    ///   - application: The application of the user.
    /// - Returns: The id of the user.
    /// - Throws: `store_unavailable` and similar failures.
    package func user(ofUID uid: String, in application: Application) async throws(Failure) -> ObjectID? {
        try await users(ofUIDs: [uid], in: application).first?.value
    }

    /// Returns a dictionary from the uids by which Firebase's clients name users to the users, without unknown uids.
    ///
    /// If a text is the uid of one user and the object id of another, it names the user with the uid.
    package func users(
        ofUIDs uids: [String],
        in application: Application
    ) async throws(Failure) -> [FirebaseUID: ObjectID] {
        // No user has an invalid uid, and a text of any length must not become a key of a dictionary.
        let known = uids.compactMap { FirebaseUID($0) }
        let (uids, ids) = (known.map(\.text), known.compactMap(\.objectID).map(\.description))
        guard !uids.isEmpty else { return [:] }
        let found = try await query(
            """
            select f.uid, f.object_id from \(identifier: application.schema).firebase_users f
            where f.uid = any (\(uids))
            union all
            select upper(u.object_id::text), u.object_id from \(identifier: application.schema).users u
            where u.object_id = any (\(ids)::uuid[])
            """,
            of: application
        ).all(String.self, ObjectID.self)
        let pairs = found.compactMap { text, user in FirebaseUID(text).map { ($0, user) } }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
}
