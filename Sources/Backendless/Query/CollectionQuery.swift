import Applications
import HTTP
import Hummingbird
import Vocabulary

/// A query of the users collection as client SDKs send it (docs/protocols/backendless.md §3.5), checked.
///
/// A parameter that cannot be honoured is refused by its name (decision D19).
struct CollectionQuery {
    private(set) var users: UserQuery
    let projection: Projection
    /// Whether it says nothing of which users there are to be, or in which order.
    private(set) var isAboutMembersAlone = true

    private static let defaultPage: Int64 = 10
    private static let mostOfAPage: Int64 = 100
    private static let mostOffset: Int64 = 1_000_000_000
    private static let mostOrders = 8

    /// What other services of Backendless would do with these is outside a service of users.
    ///
    /// As SDKs send them with nothing to do (`""`, `[]`, 0, false, `null`) they are passed over.
    private static let outside: Set<String> = [
        "having", "groupBy", "loadRelations", "relationsDepth", "relationsPageSize", "fileReferencePrefix", "distinct",
    ]

    /// Reads the body of `find` and `count`; none is an empty one.
    ///
    /// - Parameters:
    ///   - body: As received.
    ///   - columns: What the caller may see.
    ///   - isCount: Whether only the number of users is asked for.
    /// - Throws: `query_invalid`, `malformed_request`.
    init(body: JSONObject, columns: CollectionColumns, isCount: Bool = false) throws(Failure) {
        var parameters: [(name: String, texts: [String])] = []
        for member in body.members where !member.value.isNull {
            parameters.append((member.key, try Self.texts(of: member.value, named: member.key)))
        }
        try self.init(parameters, columns: columns, isCount: isCount)
    }

    /// Reads a query string.
    ///
    /// - Throws: `query_invalid`, `malformed_request`.
    init(query: FormFields, columns: CollectionColumns, isCount: Bool = false) throws(Failure) {
        var parameters: [(name: String, texts: [String])] = []
        for (name, value) in query.all {
            if let index = parameters.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
                parameters[index].texts.append(value)
            } else {
                parameters.append((name, [value]))
            }
        }
        try self.init(parameters, columns: columns, isCount: isCount)
    }

    private init(
        _ parameters: [(name: String, texts: [String])],
        columns: CollectionColumns,
        isCount: Bool
    ) throws(Failure) {
        users = UserQuery(limit: Self.defaultPage)
        var (included, excluded): ([String], [String]) = ([], [])
        for (name, texts) in parameters {
            if ["where", "pageSize", "offset", "sortBy"].contains(name) { isAboutMembersAlone = false }
            switch name {
            case "where":
                let text = try Self.one(texts, name)
                users.filter = try WhereClause.read(text) { columns.column(named: $0) }
            case "pageSize" where !isCount:
                users.limit = try Self.number(try Self.one(texts, name), name, 1...Self.mostOfAPage)
            case "offset" where !isCount:
                users.offset = try Self.number(try Self.one(texts, name), name, 0...Self.mostOffset)
            case "sortBy" where !isCount: users.order = try Self.orders(texts, columns)
            case "props" where !isCount, "property" where !isCount: included += Self.list(texts)
            case "excludeProps" where !isCount: excluded += Self.list(texts)
            case let name where Self.outside.contains(name) && texts.allSatisfy(Self.saysNothing): break
            case let name where Self.outside.contains(name):
                throw Failure(
                    .malformedRequest,
                    "\(name) cannot be honoured here: this service knows users, and no relations, groups or files."
                )
            default:
                throw Failure(
                    .malformedRequest,
                    "A parameter is not known here. Known are where, pageSize, offset, sortBy, props, property and excludeProps."
                )
            }
        }
        projection = try Projection(included: included, excluded: excluded, columns: columns)
    }

    // MARK: Values

    /// The texts of a member: a text, a number, a truth value, or a list of these.
    private static func texts(of value: JSONValue, named name: String) throws(Failure) -> [String] {
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
        guard texts.count == 1 else { throw Failure(.malformedRequest, "\(name) must be there once.") }
        return texts[0]
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

    /// The elements of lists with commas in them, without the spaces around each.
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

    /// `name`, `name asc` or `name desc`, each with a comma behind it but the last.
    private static func orders(_ texts: [String], _ columns: CollectionColumns) throws(Failure) -> [UserOrder] {
        let elements = list(texts)
        guard elements.count <= mostOrders else {
            throw Failure(.queryInvalid, "sortBy has at most \(mostOrders) properties.")
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

    fileprivate static func refusal(_ name: String, at index: Int) -> Failure {
        Failure(
            .queryInvalid,
            "Element \(index + 1) of \(name) cannot be used: a property that users have is expected\(name == "sortBy" ? ", with asc or desc behind it" : "").",
            details: ["position": .integer(Int64(index))]
        )
    }
}

extension UserColumn {
    /// Whether users can be put in order by it.
    fileprivate var isOrdered: Bool {
        guard case .property(let property) = self else { return true }
        return property.type != .json
    }
}

/// The columns of the users collection that a caller may name and see.
struct CollectionColumns {
    private let properties: [Property]
    private let undeclared: [PropertyName]

    /// Every column, for servers and for the own record.
    init(of loaded: LoadedApplication) {
        properties = loaded.application.properties
        undeclared = loaded.undeclaredNames
    }

    /// Whether user objects may have a member of a name; nobody can be searched by those that nobody declared.
    func isMember(_ name: String) -> Bool {
        column(named: name) != nil || name == "___class" || undeclared.contains { $0.text.hasSameBytes(as: name) }
    }

    /// The column of a name; nil when there is none.
    func column(named name: String) -> UserColumn? {
        switch name {
        case "objectId", "ownerId": .objectID
        case "created": .created
        case "updated": .updated
        case "lastLogin": .lastLogin
        case "userStatus": .status
        case "socialAccount", "accountType": .socialAccount
        case "blUserLocale": .locale
        default: properties.first { $0.name.text.hasSameBytes(as: name) }.map(UserColumn.property)
        }
    }
}

/// Which members of user objects a reply has, and under which names.
struct Projection {
    /// Nil for all of them.
    private let included: [(member: String, name: String)]?
    private let excluded: [String]

    static let everything = Projection()

    private static let most = 512

    private init() { (included, excluded) = (nil, []) }

    /// - Parameters:
    ///   - included: Names, each with `as` and another name behind it where the reply is to have that; none for all.
    ///   - excluded: Names.
    ///   - columns: What there is.
    /// - Throws: `query_invalid` with the place of a name that nothing has.
    init(included: [String], excluded: [String], columns: CollectionColumns) throws(Failure) {
        guard included.count + excluded.count <= Self.most else {
            throw Failure(.queryInvalid, "props and excludeProps have at most \(Self.most) names.")
        }
        var members: [(member: String, name: String)] = []
        for (index, element) in included.enumerated() {
            let words = element.split(separator: " ").map { Self.unquoted($0) }
            guard words.count == 1 || words.count == 3 && words[1].lowercased() == "as",
                columns.isMember(words[0]),
                words.count == 1 || PropertyName(words[2]) != nil
            else { throw CollectionQuery.refusal("props", at: index) }
            let name = words.count == 3 ? words[2] : words[0]
            if !members.contains(where: { $0.name.hasSameBytes(as: name) }) { members.append((words[0], name)) }
        }
        for (index, name) in excluded.enumerated() where !columns.isMember(name) {
            throw CollectionQuery.refusal("excludeProps", at: index)
        }
        self.included = members.isEmpty ? nil : members
        self.excluded = excluded
    }

    private static func unquoted(_ word: Substring) -> String {
        word.utf8.count > 2 && word.utf8.first == UInt8(ascii: "`") && word.utf8.last == UInt8(ascii: "`")
            ? String(word.dropFirst().dropLast()) : String(word)
    }

    /// The names under which a reply has a member; more than one where it was asked for under several.
    func names(of member: String) -> [String] {
        guard !excluded.contains(where: { $0.utf8.elementsEqual(member.utf8) }) else { return [] }
        guard let included else { return [member] }
        return included.filter { $0.member.utf8.elementsEqual(member.utf8) }.map(\.name)
    }
}
