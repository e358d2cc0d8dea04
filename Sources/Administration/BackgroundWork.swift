import Applications
package import Domain
package import Encodings
import Store

/// The state of the background work: the results of this instance's rounds, and the work that is due.
package struct BackgroundWork: Sendable {
    let store: Store
    /// The results of this process' rounds of background work; nil in a process without background work.
    let rounds: MaintenanceRounds?

    /// Returns a page of the applications in the order of their ids, each with the background work that is due.
    ///
    /// The shape is `{"instance": {"lastRound", "blocked": {"at", "reasons", "cause"} or `null`} or `null`, "items":
    /// [{"application", "checks", "erasures", "blockedErasures", "mails", "postponedMails"} or {"application",
    /// "problem"}], "next"}`.
    package func show(_ page: PageRequest) async throws(Failure) -> JSONValue {
        var last: ApplicationID?
        if let cursor = page.cursor {
            guard let id = ApplicationID(cursor) else { throw .badCursor }
            last = id
        }
        let places = try await store.applicationPlaces().filter { [last] place in
            last.map { $0.text < place.id.text } ?? true
        }
        var items: [(id: String, json: JSONValue)] = []
        for place in places.prefix(page.limit + 1) {
            items.append((place.id.text, .object(await due(of: place))))
        }
        var shown: JSONObject = ["instance": rounds.map(Self.json) ?? .null]
        for member in page.page(of: items, cursor: \.id, \.json).json.object?.members ?? [] {
            shown.append(member.key, member.value)
        }
        return .object(shown)
    }

    /// Returns the background work that is due for an application.
    ///
    /// If its database cannot be read, returns the reason. An application may have a database of its own. If that
    /// database is unavailable, an operator still sees the work of the other applications.
    private func due(of place: ApplicationPlace) async -> JSONObject {
        var object: JSONObject = ["application": .string(place.id.text)]
        do throws(Failure) {
            let due = try await store.dueWork(of: place)
            for (name, count) in [
                ("checks", due.checks), ("erasures", due.erasures), ("blockedErasures", due.blockedErasures),
                ("mails", due.mails), ("postponedMails", due.postponedMails),
            ] { object.append(name, .integer(Int64(count))) }
        } catch {
            object.append("problem", .string(error.message))
        }
        return object
    }

    private static func json(_ rounds: MaintenanceRounds) -> JSONValue {
        let blocked = rounds.lastBlocked.map { round -> JSONValue in
            var reasons = JSONObject()
            for (reason, count) in round.failures.sorted(by: { $0.key < $1.key }) {
                reasons.append(reason, .integer(Int64(count)))
            }
            return .object([
                "at": .integer(round.ended), "reasons": .object(reasons),
                "cause": round.cause.map(JSONValue.string) ?? .null,
            ])
        }
        return .object([
            "lastRound": rounds.last.map { .integer($0.ended) } ?? .null, "blocked": blocked ?? .null,
        ])
    }
}
