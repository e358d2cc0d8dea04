import Applications
import Domain
import Encodings

/// The columns of the users collection that a caller may name and see.
struct CollectionColumns {
    let viewer: Viewer
    private let properties: [Property]
    /// Properties that the caller may not see.
    private let hidden: [PropertyName]
    private let undeclared: [PropertyName]

    init(of loaded: LoadedApplication, for viewer: Viewer) {
        self.viewer = viewer
        properties = loaded.application.properties.filter { $0.visibleTo.includes(viewer) }
        hidden = loaded.application.properties.filter { !$0.visibleTo.includes(viewer) }.map(\.name)
        undeclared = viewer == .other ? [] : loaded.undeclaredNames
    }

    /// Returns whether user objects may have a member of a name, undeclared properties included.
    ///
    /// Undeclared properties have no column, so that a query cannot search by them.
    func isMember(_ name: String) -> Bool {
        column(named: name) != nil || name == "___class" || undeclared.contains { $0.text.hasSameBytes(as: name) }
    }

    /// Returns the properties that a response does not contain, and whether it may contain undeclared ones.
    func unread(by projection: Projection) -> (properties: Set<PropertyName>, readsUndeclared: Bool) {
        let unwanted = properties.map(\.name).filter { projection.names(of: $0.text).isEmpty }
        return (
            Set(hidden + unwanted),
            viewer != .other && (projection.hasEverything || projection.members.contains { column(named: $0) == nil })
        )
    }

    /// Returns the column of a name; nil when the name is unknown or hidden from the caller.
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

/// The members of user objects that a response has, and their names there.
struct Projection {
    let viewer: Viewer
    /// Whether a response has all members that the viewer may see, each under its own name.
    let hasEverything: Bool
    /// The explicitly requested members, each with its name in the response.
    private let included: [(member: String, name: String)]
    private let excluded: [String]

    private static let most = 512
    /// The most names of one member: a long value under hundreds of names would make a response of many megabytes.
    private static let mostNames = 4

    private init(viewer: Viewer) {
        self.viewer = viewer
        (hasEverything, included, excluded) = (true, [], [])
    }

    /// Returns the projection of all members that a viewer may see.
    static func everything(for viewer: Viewer) -> Projection { Projection(viewer: viewer) }

    /// The explicitly requested members, by their names in user objects.
    var members: [String] { included.map(\.member) }

    /// - Parameters:
    ///   - included: Names of members, each with `as` and an alias behind it if the response shall have the alias; no
    ///     name, or `*` among the names, means all members.
    ///   - excluded: Names of members to leave out.
    ///   - columns: The columns that the caller may name.
    /// - Throws: `query_invalid` with the position of an invalid name.
    init(included: [String], excluded: [String], columns: CollectionColumns) throws(Failure) {
        guard included.count + excluded.count <= Self.most else {
            throw Failure(.queryInvalid, "props and excludeProps have at most \(Self.most) names.")
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
            // With all members included, each member has its own name, which no alias may then be.
            guard !hasEverything || words.count == 3 && !columns.isMember(name) else {
                guard name.hasSameBytes(as: words[0]) else { throw CollectionQuery.refusal("props", at: index) }
                continue
            }
            guard !members.contains(where: { $0.name.hasSameBytes(as: name) }) else { continue }
            guard members.count(where: { $0.member.hasSameBytes(as: words[0]) }) < Self.mostNames else {
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

    /// Returns the names under which a response has a member; several when the query asks for several aliases.
    func names(of member: String) -> [String] {
        guard !excluded.contains(where: { $0.utf8.elementsEqual(member.utf8) }) else { return [] }
        let names = included.filter { $0.member.utf8.elementsEqual(member.utf8) }.map(\.name)
        return hasEverything ? [member] + names : names
    }
}
