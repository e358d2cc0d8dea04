import API
import HTTP
import HTTPTypes
import Vocabulary

/// What a part of a page is made of, or what is said in its place: a page whose parts stand by themselves is there
/// although one of them is not.
enum Part {
    case there(JSONObject)
    case missing(HTML)

    /// The part as it is shown.
    func html(_ make: (JSONObject) -> HTML) -> HTML {
        switch self {
        case .there(let object): make(object)
        case .missing(let text): text
        }
    }

    /// What it is made of, for who goes on without it.
    var object: JSONObject? {
        guard case .there(let object) = self else { return nil }
        return object
    }

    /// How long a page waits for a part of it.
    ///
    /// Statements of operators may take longer; pages of their own wait for those.
    static let patience = Duration.seconds(3)
}

extension Visit {
    /// Reads what a part of a page needs, and waits for it no longer than a page may.
    ///
    /// - Throws: The refusals that are about the session, and so about all of the page.
    func part(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Part {
        try await part(.init(.get, path, query: query))
    }

    /// The same by another call.
    func part(_ call: AdministrationCalls.Call) async throws -> Part {
        do {
            return try await withThrowingTaskGroup(of: Part.self) { group in
                group.addTask { .there(try await self.call(call).body?.object ?? JSONObject()) }
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

    /// The ids of all applications; nil where there are too many for a list, or they cannot be had.
    func applicationIDs() async throws -> [String]? {
        guard let list = try await part(["applications"], query: [("limit", "100")]).object,
            list["next"]?.string == nil
        else { return nil }
        return list["items"]?.array?.compactMap { $0.object?["application"]?.string }
    }

    private static let late: HTML = """
        <div class="alert" role="alert"><p>This took longer than \(Part.patience.components.seconds) s, and the page did not \
        wait for it. The rest of the page is complete; load it again for this part.</p></div>
        """
}
