/// `GET /?ids=`: several nodes at once, by their ids.
extension World {
    private static let maximumIDs = 50

    func nodes(_ list: String, request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        _ = try authorize(request, now: now, missing: .tokenRequired)
        let ids = try Self.ids(list)
        guard ids.count <= Self.maximumIDs else {
            throw GraphError(
                code: 100,
                message: "(#100) Too many IDs. Maximum: \(Self.maximumIDs). Provided: \(ids.count)."
            )
        }
        let strangers = ids.filter { !Self.isNodeID($0) }
        guard strangers.isEmpty else { throw .unknownAliases(strangers) }
        var nodes: JSON = [:]
        for id in ids {
            if case .json(let node) = try node(id, edge: [], request: request, now: now).body { nodes[id] = node }
        }
        return GraphReply(nodes)
    }

    /// Whether a path that begins so can name a node; there are no names for nodes here but these two.
    static func isNodeID(_ text: String) -> Bool {
        text == "me" || text == "app" || text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    }

    /// Commas between them, or a JSON list, which is how RestFB writes it.
    private static func ids(_ list: String) throws(GraphError) -> [String] {
        let texts = (try? JSON(parsing: list.utf8).array)?.compactMap(\.string)
        let ids = texts ?? list.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        // Longer than any id: not worth comparing.
        guard !ids.isEmpty, ids.allSatisfy({ (1...64).contains($0.utf8.count) }) else { throw .emptyIdentifier }
        return ids
    }
}

extension GraphError {
    fileprivate static let emptyIdentifier = GraphError(code: 2500, message: "Cannot specify an empty identifier")

    fileprivate static func unknownAliases(_ names: [String]) -> GraphError {
        GraphError(
            code: 803,
            message: "(#803) Some of the aliases you requested do not exist: \(names.joined(separator: ","))"
        )
    }
}
