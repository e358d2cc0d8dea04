import Domain
import Encodings
import Store

/// The state of properties' indexes, and the searches that were slow without an index.
struct PropertySearching {
    private let indexes: [PropertyIndexState]
    private let advice: [IndexAdvice]

    init(of application: StoredApplication, store: Store) async throws(Failure) {
        indexes = try await store.indexStates(of: application.place)
        advice = try await store.indexAdvice(of: application.id)
    }

    /// Returns the property as a JSON object for operators.
    ///
    /// If the property has an index, the object has the state of the index. Otherwise it has the slow searches, if
    /// there were any.
    func document(of property: Property) -> JSONObject {
        var document = property.document
        if let index = indexes.first(where: { $0.property == property.name }) {
            var state: JSONObject = ["state": .string(index.isReady ? "ready" : "building")]
            if let problem = index.problem { state.append("problem", .string(problem)) }
            document.append("index", .object(state))
        } else if let advice = advice.first(where: { $0.property == property.name }) {
            document.append(
                "slowSearches",
                .object([
                    "count": .integer(advice.searches), "slowestMilliseconds": .integer(advice.slowestMilliseconds),
                    "last": .integer(advice.last),
                ])
            )
        }
        return document
    }

    /// Returns a merge patch of a property without the members `index` and `slowSearches`.
    ///
    /// Only the service changes these two. A client may send them back as it read them, and they have no effect.
    static func removed(from patch: JSONValue) -> JSONValue {
        guard let object = patch.object else { return patch }
        return .object(JSONObject(object.members.filter { !["index", "slowSearches"].contains($0.key) }))
    }
}
