import Applications
import Domain
import Encodings

/// The columns of the users collection that the client may see and use in a query.
struct CollectionColumns {
    let viewer: Viewer
    private let properties: [Property]
    /// The properties that the client may not see.
    private let hidden: [PropertyName]
    private let undeclared: [PropertyName]

    init(of loaded: LoadedApplication, for viewer: Viewer) {
        self.viewer = viewer
        properties = loaded.application.properties.filter { $0.visibleTo.includes(viewer) }
        hidden = loaded.application.properties.filter { !$0.visibleTo.includes(viewer) }.map(\.name)
        undeclared = viewer == .other ? [] : loaded.undeclaredNames
    }

    /// Returns whether user objects may have a member of this name.
    ///
    /// The names of undeclared properties count, too. These have no column, so a query cannot search by them.
    func isMember(_ name: String) -> Bool {
        column(named: name) != nil || name == "___class" || undeclared.contains { $0.text.hasSameBytes(as: name) }
    }

    /// Returns the properties that the database need not return for a response.
    ///
    /// Also returns whether the database must return undeclared properties.
    func unread(by projection: Projection) -> (properties: Set<PropertyName>, readsUndeclared: Bool) {
        let unwanted = properties.map(\.name).filter { projection.names(of: $0.text).isEmpty }
        return (
            Set(hidden + unwanted),
            viewer != .other && (projection.hasEverything || projection.members.contains { column(named: $0) == nil })
        )
    }

    /// Returns the column with a name; nil if the name is unknown or the client may not see the column.
    func column(named name: String) -> UserColumn? {
        switch name {
        case "objectId", "ownerId": .objectID
        case "created": .created
        case "updated": .updated
        case "lastLogin" where viewer != .other: .lastLogin
        case "userStatus" where viewer != .other: .status
        case "socialAccount" where viewer != .other, "accountType" where viewer != .other: .socialAccount
        case "blUserLocale" where viewer != .other: .locale
        default: properties.first { $0.name.text.hasSameBytes(as: name) }.map(UserColumn.property)
        }
    }
}

/// Selects the members of user objects that a response contains, and their names in the response.
struct Projection {
    let viewer: Viewer
    /// Whether the response contains all members that the viewer may see, each under its own name.
    let hasEverything: Bool
    /// The members that the query explicitly requests, each with its name in the response.
    private let included: [(member: String, name: String)]
    private let excluded: [String]

    private static let max = 512
    /// The maximum number of names under which a response may repeat one member.
    ///
    /// A long value under hundreds of names would make a response of many megabytes.
    private static let maxNames = 4

    private init(viewer: Viewer) {
        self.viewer = viewer
        (hasEverything, included, excluded) = (true, [], [])
    }

    /// Returns the projection that selects all members which a viewer may see.
    static func everything(for viewer: Viewer) -> Projection { Projection(viewer: viewer) }

    /// The members that the query explicitly requests, by their names in user objects.
    var members: [String] { included.map(\.member) }

    /// Creates a projection from the names in a query.
    ///
    /// - Parameters:
    ///   - included: The names of the requested members, each optionally followed by `as` and an alias for the
    ///     response. An empty list, or `*` among the names, requests all members.
    ///   - excluded: The names of members to leave out.
    ///   - columns: The columns that the client may name.
    /// - Throws: `query_invalid` with the position of an invalid name.
    init(included: [String], excluded: [String], columns: CollectionColumns) throws(Failure) {
        guard included.count + excluded.count <= Self.max else {
            throw Failure(.queryInvalid, "props and excludeProps have at most \(Self.max) names.")
        }
        hasEverything = included.isEmpty || included.contains("*")
        var members: [(member: String, name: String)] = []
        for (index, element) in included.enumerated() where element != "*" {
            let words = element.split(separator: " ").map { Self.unquoted($0) }
            guard words.count == 1 || words.count == 3 && words[1].lowercased() == "as",
                columns.isMember(words[0]),
                words.count == 1 || PropertyName(words[2]) != nil
            else { throw CollectionQuery.refusal("props", at: index) }
            let name = words.count == 3 ? words[2] : words[0]
            // If all members are included, each has its own name in the response. So no alias may be the name of a
            // member.
            guard !hasEverything || words.count == 3 && !columns.isMember(name) else {
                guard name.hasSameBytes(as: words[0]) else { throw CollectionQuery.refusal("props", at: index) }
                continue
            }
            guard !members.contains(where: { $0.name.hasSameBytes(as: name) }) else { continue }
            guard members.count(where: { $0.member.hasSameBytes(as: words[0]) }) < Self.maxNames else {
                throw CollectionQuery.refusal("props", at: index)
            }
            members.append((words[0], name))
        }
        for (index, name) in excluded.enumerated() where !columns.isMember(name) {
            throw CollectionQuery.refusal("excludeProps", at: index)
        }
        viewer = columns.viewer
        self.included = members
        self.excluded = excluded
    }

    private static func unquoted(_ word: Substring) -> String {
        word.utf8.count > 2 && word.utf8.first == UInt8(ascii: "`") && word.utf8.last == UInt8(ascii: "`")
            ? String(word.dropFirst().dropLast()) : String(word)
    }

    /// Returns the names under which the response contains a member; empty if it does not contain the member.
    ///
    /// There are several names if the query requests several aliases.
    func names(of member: String) -> [String] {
        guard !excluded.contains(where: { $0.utf8.elementsEqual(member.utf8) }) else { return [] }
        let names = included.filter { $0.member.utf8.elementsEqual(member.utf8) }.map(\.name)
        return hasEverything ? [member] + names : names
    }
}
