import Administration
import ArgumentParser
import Encodings

/// The options that select a part of a list.
struct PageOptions: ParsableArguments {
    @Option(help: "Maximum number of items.")
    var limit = PageRequest.usualItems

    @Option(help: "Continue a list at this cursor.")
    var cursor: String?

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1.") }
    }

    /// Requests parts of a list, one after the other, until there are as many items as the option `--limit` allows.
    func read(_ page: (PageRequest) async throws -> Page) async throws -> Page {
        var items: [JSONValue] = []
        var cursor = cursor
        var facts: JSONObject?
        repeat {
            let wanted = min(limit - items.count, PageRequest.maxItems)
            let part = try await page(PageRequest(limit: wanted, cursor: cursor))
            items += part.items
            cursor = part.next
            facts = facts ?? part.facts
        } while cursor != nil && items.count < limit
        return Page(items: items, next: cursor, facts: facts ?? JSONObject())
    }
}
