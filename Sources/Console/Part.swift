import AdministrationAPI
import Encodings
import HTTPTypes
import Pages

/// The data of a page's part, or a text in its place: a failed part does not prevent the rest of the page.
enum Part {
    case there(JSONObject)
    case missing(HTML)

    /// Returns the HTML of the part, or the text in its place.
    func html(_ make: (JSONObject) -> HTML) -> HTML {
        switch self {
        case .there(let object): make(object)
        case .missing(let text): text
        }
    }

    /// The data, for callers that can continue without it; nil when it is missing.
    var object: JSONObject? {
        guard case .there(let object) = self else { return nil }
        return object
    }

    /// How long a page waits for a part.
    ///
    /// Statements of operators may take longer; pages of their own wait for those.
    static let patience = Duration.seconds(3)
}

extension Visit {
    /// Reads the data of a part, within the time that a page waits for it.
    ///
    /// - Throws: Only refusals about the session, which concern the whole page.
    func part(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Part {
        try await part(.init(.get, path, query: query))
    }

    /// Makes a call for the data of a part, within the time that a page waits for it.
    func part(_ call: AdministrationCalls.Call) async throws -> Part {
        do {
            return try await withThrowingTaskGroup(of: Part.self) { group in
                group.addTask { .there(try await self.call(call).object) }
                group.addTask {
                    try await Task.sleep(for: Part.patience)
                    return .missing(Self.late)
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .missing(Self.late)
            }
        } catch let refusal as Refusal where !refusal.asksForFactor && !refusal.endsSession {
            return .missing(refusal.alert)
        }
    }

    /// Returns the ids of all applications; nil where there are too many for a list, or the call fails.
    func applicationIDs() async throws -> [String]? {
        guard let list = try await part(["applications"], query: [("limit", "100")]).object,
            list["next"]?.string == nil
        else { return nil }
        return list.objects("items").compactMap { $0["application"]?.string }
    }

    private static let late = HTML.alert(
        """
        This took longer than \(Part.patience.components.seconds) s, and the page did not wait for it. The rest of the page \
        is complete; load it again for this part.
        """
    )
}
