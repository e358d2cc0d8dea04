package import Domain
package import Encodings
import Store

/// The criteria of a search in the log of logins, as received.
package struct LoginSearch: Sendable {
    package var application: String?
    package var method: String?
    package var provider: String?
    package var outcome: String?
    package var reason: String?
    package var source: String?
    package var user: String?
    /// The start of the time range: an RFC 3339 time, or milliseconds since 1970.
    package var since: String?
    /// The id of a login: only later logins are returned, the oldest first.
    ///
    /// If it is nil, the newest logins come first.
    package var after: String?

    package init() {}
}

/// Searches the log of logins and counts logins, for operators.
package struct LoginAdministration: Sendable {
    let store: Store
    let clock: WallClock

    /// Returns a page of logins, the newest first; with `after`, the oldest first.
    ///
    /// A login is `{"id", "happened", "application", "method", "provider", "credential", "outcome", "reason", "cause",
    /// "user", "request", "source", "userAgent", "session", "milliseconds"}`. Some logins have no entry in the log: the
    /// service only counts them. Without `after`, the page has their number in the member `unlisted`: `{"since",
    /// "logins"}`. It counts those that match the search and happened after the time `since`.
    package func list(_ search: LoginSearch, _ page: PageRequest) async throws(Failure) -> Page {
        let filter = try search.filter
        guard let after = search.after else {
            var before: Int64?
            if let cursor = page.cursor {
                guard let id = Self.id(cursor) else { throw .badCursor }
                before = id
            }
            let entries = try await store.logins(matching: filter, .before(before), limit: page.limit + 1)
            let part = page.page(of: entries, cursor: { String($0.id) }, \.json)
            let since = (filter.since.map { $0 / 1000 } ?? clock.seconds - 86_400) / 3600 * 3600
            let unlisted = try await store.unlistedLogins(matching: filter, since: since)
            return Page(
                items: part.items,
                next: part.next,
                facts: ["unlisted": .object(["since": .integer(since * 1000), "logins": .integer(unlisted)])]
            )
        }
        guard page.cursor == nil else {
            throw Failure(.malformedRequest, "cursor goes to older logins, after to newer ones. Send only one of them.")
        }
        guard let id = Self.id(after) else {
            throw Failure(.malformedRequest, "after must be the id of a login, or 0 for the first one.")
        }
        let entries = try await store.logins(matching: filter, .after(id), limit: page.limit + 1)
        return page.page(of: entries, cursor: { String($0.id) }, \.json)
    }

    /// Counts logins by method, provider and outcome, in intervals of equal length.
    ///
    /// The result also has the number of refused logins for each reason.
    ///
    /// - Parameters:
    ///   - application: The application; nil for all.
    ///   - hours: The number of hours up to now that are counted, 24 by default.
    /// - Returns: `{"since", "seconds", "buckets", "reasons"}`. `buckets` has the counts, and `seconds` is the length
    ///   of an interval.
    /// - Throws: `malformed_request` for more hours than a week has; `store_unavailable` and similar errors.
    package func counts(of application: String?, hours: Int64?) async throws(Failure) -> JSONValue {
        let hours = hours ?? 24
        guard (1...Self.maxHours).contains(hours) else {
            throw Failure(.malformedRequest, "hours must be a whole number from 1 to \(Self.maxHours).")
        }
        let id = try application.map { (text) throws(Failure) in try LoginSearch.application(text) }
        let width: Int64 = hours == 1 ? 60 : hours <= 24 ? 600 : 3600
        let since = (clock.seconds - hours * 3600) / width * width
        let counts = try await store.loginCounts(of: id, since: since, width: width)
        return .object([
            "since": .integer(since * 1000), "seconds": .integer(width),
            "buckets": .array(counts.buckets.map(\.json)), "reasons": .array(counts.refusals.map(\.json)),
        ])
    }

    /// The maximum period that `counts` covers: one week.
    private static let maxHours: Int64 = 168

    private static func id(_ text: String) -> Int64? {
        guard text.utf8.count <= 20, let id = Int64(text), id >= 0 else { return nil }
        return id
    }
}

extension LoginSearch {
    /// The criteria as a filter for the database query.
    ///
    /// - Throws: `malformed_request` for the first invalid criterion. Without this error, a search with a misspelt
    ///   criterion would find nothing, as if the log were empty.
    fileprivate var filter: LoginFilter {
        get throws(Failure) {
            LoginFilter(
                application: try application.map { (text) throws(Failure) in try Self.application(text) },
                method: try Self.word(method, "method"),
                provider: try Self.value(provider, "provider must be the name of a provider.") { ProviderName($0) },
                outcome: try Self.word(outcome, "outcome"),
                reason: try Self.value(reason, "reason must be a reason of an error.") {
                    Failure.Reason(rawValue: $0)?.rawValue
                },
                source: try Self.value(source, "source must be a network address as in the log.") {
                    (1...100).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil
                },
                user: try Self.value(user, "user must be a UUID with dashes.") { ObjectID($0) },
                since: try Self.value(
                    since,
                    "since must be milliseconds since 1970 or a time like 2026-11-21T10:27:08Z."
                ) { Moment.read($0) }
            )
        }
    }

    fileprivate static func application(_ text: String) throws(Failure) -> ApplicationID {
        guard let id = ApplicationID(text) else {
            throw Failure(.malformedRequest, "application must be the id of an application.")
        }
        return id
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ text: String?,
        _ parameter: String
    ) throws(Failure) -> Word? {
        let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
        return try value(text, "\(parameter) must be one of \(words).") { Word(rawValue: $0) }
    }

    private static func value<Value>(
        _ text: String?,
        _ problem: @autoclosure () -> String,
        _ read: (String) -> Value?
    ) throws(Failure) -> Value? {
        guard let text else { return nil }
        guard let value = read(text) else { throw Failure(.malformedRequest, problem()) }
        return value
    }
}

extension LoginEntry {
    package var json: JSONValue {
        .object([
            "id": .integer(id),
            "happened": .integer(happened),
            "application": .string(application),
            "method": .string(method),
            "provider": provider.map(JSONValue.string) ?? .null,
            "credential": .string(credential),
            "outcome": .string(outcome),
            "reason": reason.map(JSONValue.string) ?? .null,
            "cause": cause.map(JSONValue.string) ?? .null,
            "user": user.map { .string($0.description) } ?? .null,
            "request": request.map(JSONValue.string) ?? .null,
            "source": source.map(JSONValue.string) ?? .null,
            "userAgent": userAgent.map(JSONValue.string) ?? .null,
            "session": session.map(JSONValue.string) ?? .null,
            "milliseconds": .integer(milliseconds),
        ])
    }
}

extension LoginBucket {
    fileprivate var json: JSONValue {
        .object([
            "starts": .integer(starts), "method": .string(method),
            "provider": provider.map(JSONValue.string) ?? .null, "outcome": .string(outcome),
            "logins": .integer(count.logins), "unlisted": .integer(count.unlisted),
        ])
    }
}

extension LoginRefusals {
    fileprivate var json: JSONValue {
        .object([
            "method": .string(method), "provider": provider.map(JSONValue.string) ?? .null,
            "reason": .string(reason), "logins": .integer(logins),
        ])
    }
}
