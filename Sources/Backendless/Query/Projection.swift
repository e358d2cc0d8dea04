import Applications
import Vocabulary

/// The columns of the users collection that a caller may name and see.
struct CollectionColumns {
    let viewer: Viewer
    private let properties: [Property]
    /// What the caller may not see.
    private let hidden: [PropertyName]
    private let undeclared: [PropertyName]

    init(of loaded: LoadedApplication, for viewer: Viewer) {
        self.viewer = viewer
        properties = loaded.application.properties.filter { $0.visibleTo.includes(viewer) }
        hidden = loaded.application.properties.filter { !$0.visibleTo.includes(viewer) }.map(\.name)
        undeclared = viewer == .other ? [] : loaded.undeclaredNames
    }

    /// Whether user objects may have a member of a name; nobody can be searched by those that nobody declared.
    func isMember(_ name: String) -> Bool {
        column(named: name) != nil || name == "___class" || undeclared.contains { $0.text.hasSameBytes(as: name) }
    }

    /// The properties that a reply has nothing of, and whether it may have undeclared ones.
    func unread(by projection: Projection) -> (properties: Set<PropertyName>, readsUndeclared: Bool) {
        let unwanted = properties.map(\.name).filter { projection.names(of: $0.text).isEmpty }
        return (
            Set(hidden + unwanted),
            viewer != .other && (projection.hasEverything || projection.members.contains { column(named: $0) == nil })
        )
    }

    /// The column of a name; nil when there is none.
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

/// Which members of user objects a reply has, and under which names.
struct Projection {
    let viewer: Viewer
    /// Whether a reply has all that the viewer sees, each under its own name.
    let hasEverything: Bool
    /// What it has besides.
    private let included: [(member: String, name: String)]
    private let excluded: [String]

    private static let most = 512
    /// Names under which one member comes back: a long one under hundreds would make a reply of many megabytes.
    private static let mostNames = 4

    private init(viewer: Viewer) {
        self.viewer = viewer
        (hasEverything, included, excluded) = (true, [], [])
    }

    /// All that somebody sees.
    static func everything(for viewer: Viewer) -> Projection { Projection(viewer: viewer) }

    /// What was asked for, by the names of the members.
    var members: [String] { included.map(\.member) }

    /// - Parameters:
    ///   - included: Names, each with `as` and another name behind it where the reply is to have that; none, or `*`
    ///     among them, for all.
    ///   - excluded: Names.
    ///   - columns: What there is.
    /// - Throws: `query_invalid` with the place of a name that nothing has.
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
            // With everything a member is there under its own name, which no other can have then.
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

    /// The names under which a reply has a member; more than one where it was asked for under several.
    func names(of member: String) -> [String] {
        guard !excluded.contains(where: { $0.utf8.elementsEqual(member.utf8) }) else { return [] }
        let names = included.filter { $0.member.utf8.elementsEqual(member.utf8) }.map(\.name)
        return hasEverything ? [member] + names : names
    }
}
