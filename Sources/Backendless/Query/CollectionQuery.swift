import Description
import Domain
import Encodings

/// A validated query of the users collection, as client SDKs send it (docs/protocols/backendless.md §3.5).
///
/// The service refuses each parameter that it does not support, and names the parameter in the error (decision D19).
struct CollectionQuery {
    private(set) var users: UserQuery
    let projection: Projection
    /// Whether the response contains the roles of each user.
    private(set) var loadsRoles = false
    /// Whether the query only selects members of user objects.
    ///
    /// A request for a single user may contain only such a query: one without `where`, `distinct`, `loadRoles` or a
    /// positive `offset`.
    private(set) var isAboutMembersAlone = true

    private static let defaultPage: Int64 = 10
    private static let maxPerPage: Int64 = 100
    private static let maxOffset: Int64 = 1_000_000_000
    private static let maxOrders = 8

    /// The query parameters that belong to functions of Backendless which this service does not offer.
    ///
    /// The service refuses these parameters. It ignores one with an empty value (`""`, `[]`, 0, false, `null`), since
    /// SDKs send such values.
    private static let outside: Set<String> = ["having", "groupBy", "loadRelations", "fileReferencePrefix"]
    /// The query parameters for the depth and the number of related records.
    ///
    /// The service ignores them: users have no relations, but the Swift SDK sends both in every query.
    private static let ofRelations: Set<String> = ["relationsDepth", "relationsPageSize"]

    /// Parses a query from the JSON body of a `find` or `count` request.
    ///
    /// A request without a body counts as one with an empty object.
    ///
    /// - Parameters:
    ///   - body: The body, as received.
    ///   - columns: The columns that the client may see.
    ///   - isCount: Whether the query asks only for the number of users.
    /// - Throws: `query_invalid`, `malformed_request`.
    init(body: JSONObject, columns: CollectionColumns, isCount: Bool = false) throws(Failure) {
        var parameters: [(name: String, texts: [String])] = []
        for member in body.members where !member.value.isNull {
            parameters.append((member.key, try Self.texts(of: member.value)))
        }
        try self.init(parameters, columns: columns, isCount: isCount)
    }

    /// Parses a query from the query string of a URL.
    ///
    /// - Throws: `query_invalid`, `malformed_request`.
    init(query: FormFields, columns: CollectionColumns, isCount: Bool = false) throws(Failure) {
        var parameters: [(name: String, texts: [String])] = []
        // If an app passes an empty query, the JavaScript SDK ends the address with `&`.
        for (name, value) in query.all where !(name.utf8.isEmpty && value.utf8.isEmpty) {
            if let index = parameters.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
                parameters[index].texts.append(value)
            } else {
                parameters.append((name, [value]))
            }
        }
        try self.init(parameters, columns: columns, isCount: isCount)
    }

    private static let known = [
        "where", "pageSize", "offset", "sortBy", "props", "property", "excludeProps", "distinct", "loadRoles",
    ]

    private init(
        _ parameters: [(name: String, texts: [String])],
        columns: CollectionColumns,
        isCount: Bool
    ) throws(Failure) {
        users = UserQuery(limit: Self.defaultPage)
        var (included, excluded): ([String], [String]) = ([], [])
        var isDistinct = false
        for (name, texts) in parameters {
            if ["where", "distinct", "loadRoles"].contains(name) { isAboutMembersAlone = false }
            switch name {
            case "where":
                let text = try Self.one(texts, name)
                users.filter = try WhereClause.read(text) { columns.column(named: $0) }
            case "pageSize" where !isCount:
                users.limit = try Self.number(try Self.one(texts, name), name, 1...Self.maxPerPage)
            case "offset" where !isCount:
                users.offset = try Self.number(try Self.one(texts, name), name, 0...Self.maxOffset)
                // SDKs send an offset of 0 with every query.
                if users.offset > 0 { isAboutMembersAlone = false }
            case "sortBy" where !isCount: users.order = try Self.orders(texts, columns)
            case "props" where !isCount, "property" where !isCount: included += Self.list(texts)
            case "excludeProps" where !isCount: excluded += Self.list(texts)
            case "distinct": isDistinct = try Self.flag(try Self.one(texts, name), name)
            case "loadRoles" where !isCount: loadsRoles = try Self.flag(try Self.one(texts, name), name)
            case let name where Self.ofRelations.contains(name):
                _ = try Self.number(try Self.one(texts, name), name, 0...100)
            case let name where Self.outside.contains(name) && texts.allSatisfy(Self.saysNothing): break
            case let name where Self.outside.contains(name):
                throw Failure(
                    .malformedRequest,
                    "\(name) is not supported: this service has users, but no relations, groups or files."
                )
            default:
                let known = Self.known.joined(separator: ", ")
                let hint = NearestName.hint(for: name, among: Self.known)
                throw Failure(.malformedRequest, "A parameter is not known\(hint). Known parameters: \(known).")
            }
        }
        projection = try Projection(included: included, excluded: excluded, columns: columns)
        (users.unread, users.readsUndeclared) = columns.unread(by: projection)
        // Whole user objects always differ from each other, so `distinct` has no effect.
        if isDistinct, !projection.hasEverything { try makeDistinct(columns) }
    }

    /// Changes the query so that no two users in its result have equal values in all requested members.
    private mutating func makeDistinct(_ columns: CollectionColumns) throws(Failure) {
        for (index, member) in projection.members.enumerated() where member != "___class" {
            guard let column = columns.column(named: member) else {
                throw Self.refusal("props with distinct", at: index)
            }
            users.distinct.append(column)
        }
        for (index, order) in users.order.enumerated() where !users.distinct.contains(order.column) {
            throw Self.refusal("sortBy with distinct", at: index)
        }
    }

    // MARK: Values

    /// Returns the value of a query parameter as a list of texts.
    ///
    /// The value is a text, a number, a Boolean, or a list of these.
    private static func texts(of value: JSONValue) throws(Failure) -> [String] {
        var texts: [String] = []
        for value in value.array ?? [value] {
            switch value {
            case .string(let text): texts.append(text)
            case .number, .bool: texts.append(value.text)
            default:
                throw Failure(
                    .malformedRequest,
                    "A parameter must be a text, a number, true, false, or a list of texts."
                )
            }
        }
        return texts
    }

    private static func one(_ texts: [String], _ name: String) throws(Failure) -> String {
        guard texts.count == 1 else { throw Failure(.malformedRequest, "\(name) is repeated. Send it once.") }
        return texts[0]
    }

    private static func flag(_ text: String, _ name: String) throws(Failure) -> Bool {
        switch text {
        case "true": true
        case "", "false": false
        default: throw Failure(.malformedRequest, "\(name) must be true or false.")
        }
    }

    private static func number(_ text: String, _ name: String, _ range: ClosedRange<Int64>) throws(Failure) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw Failure(
                .malformedRequest,
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }

    /// Splits texts at commas and trims the spaces around each element.
    private static func list(_ texts: [String]) -> [String] {
        texts.flatMap { $0.split(separator: ",", omittingEmptySubsequences: true).map(trimmed) }.filter {
            !$0.utf8.isEmpty
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var bytes = text.utf8[...]
        while bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func saysNothing(_ text: String) -> Bool { ["", "0", "false"].contains(text) }

    /// Parses a list of sort orders, separated by commas: `name`, `name asc` or `name desc`.
    private static func orders(_ texts: [String], _ columns: CollectionColumns) throws(Failure) -> [UserOrder] {
        let elements = list(texts)
        guard elements.count <= maxOrders else {
            throw Failure(.queryInvalid, "sortBy has at most \(maxOrders) properties.")
        }
        var orders: [UserOrder] = []
        for (index, element) in elements.enumerated() {
            let words = element.split(separator: " ")
            guard (1...2).contains(words.count), let column = columns.column(named: String(words[0])), column.isOrdered
            else { throw refusal("sortBy", at: index) }
            switch words.count == 2 ? words[1].lowercased() : "asc" {
            case "asc": orders.append(UserOrder(by: column, isDescending: false))
            case "desc": orders.append(UserOrder(by: column, isDescending: true))
            default: throw refusal("sortBy", at: index)
            }
        }
        return orders
    }

    /// Returns the failure for an invalid element in a parameter's list.
    ///
    /// A valid element is the name of a property of users.
    static func refusal(_ name: String, at index: Int) -> Failure {
        Failure(
            .queryInvalid,
            """
            Element \(index + 1) of \(name) is not a property of \
            users\(name.hasPrefix("sortBy") ? ", optionally followed by asc or desc" : "").
            """,
            details: ["position": .integer(Int64(index))]
        )
    }
}

extension UserColumn {
    /// Whether a query may sort users by the column.
    fileprivate var isOrdered: Bool {
        guard case .property(let property) = self else { return true }
        return property.type != .json
    }
}
