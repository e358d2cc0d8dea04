import AdministrationAPI
import Encodings
import HTTPTypes
import Pages

/// The data for a part of a page, or an error message that the page shows in place of the data.
///
/// If the data of one part cannot be read, the rest of the page is still shown.
enum Part {
    case there(JSONObject)
    case missing(HTML)

    /// Returns the HTML that `make` creates from the data, or the error message in its place.
    func html(_ make: (JSONObject) -> HTML) -> HTML {
        switch self {
        case .there(let object): make(object)
        case .missing(let text): text
        }
    }

    /// The data, for callers that can continue without it; nil if it could not be read.
    var object: JSONObject? {
        guard case .there(let object) = self else { return nil }
        return object
    }

    /// The timeout for reading the data of one part of a page.
    ///
    /// A call for the administration API may take longer. A page that shows only the result of one call waits until the
    /// call ends.
    static let timeout = Duration.seconds(3)
}

extension Visit {
    /// Reads the data for a part of a page from the administration API, for at most `Part.timeout`.
    ///
    /// - Throws: Only refusals that concern the session, since these affect the whole page. Other errors become the
    ///   part's message.
    func part(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Part {
        try await part(.init(.get, path, query: query))
    }

    /// Calls the administration API for the data of a part of a page, for at most `Part.timeout`.
    func part(_ call: AdministrationCalls.Call) async throws -> Part {
        do {
            return try await withThrowingTaskGroup(of: Part.self) { group in
                group.addTask { .there(try await self.call(call).object) }
                group.addTask {
                    try await Task.sleep(for: Part.timeout)
                    return .missing(Self.late)
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .missing(Self.late)
            }
        } catch let refusal as Refusal where !refusal.asksForFactor && !refusal.endsSession {
            return .missing(refusal.alert)
        }
    }

    /// Returns the ids of all applications; nil if there are too many for a list, or if the call fails.
    func applicationIDs() async throws -> [String]? {
        guard let list = try await part(["applications"], query: [("limit", "100")]).object,
            list["next"]?.string == nil
        else { return nil }
        return list.objects("items").compactMap { $0["application"]?.string }
    }

    private static let late = HTML.alert(
        """
        This part took longer than \(Part.timeout.components.seconds) s to load. The rest of the page is complete. \
        Reload the page to try again.
        """
    )
}
