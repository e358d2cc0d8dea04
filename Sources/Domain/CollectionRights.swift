import Description
import Encodings

/// For each right to read, change or delete users through the public API: the users who have the right.
///
/// Clients with a server key have every right. Users may always read and change their own record.
package struct CollectionRights: Sendable, Equatable {
    package enum Right: String, Sendable, CaseIterable {
        /// To search other users by their visible properties, and to count them.
        case find
        /// To read other users' visible properties, by id.
        case readOthers
        /// To change other users' properties that are visible and that clients may write, except the e-mail address and
        /// the login name.
        case updateOthers
        /// To delete the user's own account.
        case deleteOwn
    }

    /// A group of users to whom a right is granted.
    package enum Grantee: Sendable, Equatable {
        case guests
        /// All users with an account. A guest has no account.
        case users
        /// Users who were given this role of the application.
        case role(String)
    }

    private var grantees: [Right: [Grantee]] = [.deleteOwn: [.users, .guests]]

    package init() {}

    package subscript(right: Right) -> [Grantee] {
        get { grantees[right] ?? [] }
        set { grantees[right] = newValue.isEmpty ? nil : newValue }
    }
}

/// The kind of reader for whom the service writes a response about a user.
///
/// The kind decides which of the user's properties are in the response.
package enum Viewer: Sendable {
    case server
    /// The user whom the response describes.
    case owner
    case other
}

extension Visibility {
    package func includes(_ viewer: Viewer) -> Bool {
        switch (viewer, self) {
        case (.server, _), (.owner, .owner), (.owner, .users), (.other, .users): true
        case (.owner, .server), (.other, .server), (.other, .owner): false
        }
    }
}

extension CollectionRights {
    /// Describes the rights in their JSON form: `{"find": ["users"], "readOthers": ["guests", "role:editor"], …}`.
    static let description = ObjectDescription(
        CollectionRights(),
        unknown: "is not a right in the users collection",
        [
            field(.find, "search others", "Search other users by their visible properties, and count them."),
            field(.readOthers, "read others", "Read the visible properties of other users, by id."),
            field(
                .updateOthers,
                "change others",
                """
                Change visible properties of other users that clients may write, except the e-mail address and the \
                login name.
                """
            ),
            field(.deleteOwn, "delete own account", "Delete one's own account."),
        ]
    )

    private static func field(_ right: Right, _ title: String, _ meaning: String) -> Field<CollectionRights> {
        Field(right.rawValue, \.[right], .list(of: grantee, max: 100), title, meaning)
    }

    private static let grantee = Codec<Grantee>.text(
        TextRule(
            "must be \"users\", \"guests\", or \"role:\" followed by the name of a role",
            pattern: "^(guests|users|role:[A-Za-z0-9][A-Za-z0-9._-]*)$",
            maxBytes: 105
        ) { Grantee($0) != nil },
        { Grantee($0) },
        text: \.text
    )

    /// Adds a problem for each role that has a right but is missing in the setting `roles`.
    ///
    /// A role that is missing there cannot be given to any user.
    func check(roles: [String], at place: JSONPointer, problems: inout DocumentProblems) {
        for right in Right.allCases {
            for case .role(let role) in self[right] where !roles.contains(where: { $0.hasSameBytes(as: role) }) {
                problems.add(
                    place / right.rawValue,
                    "names \(Grantee.rolePrefix)\(role), which is not in the setting roles"
                )
            }
        }
    }
}

extension CollectionRights.Grantee {
    fileprivate static let rolePrefix = "role:"

    fileprivate init?(_ text: String) {
        if text.hasSameBytes(as: "guests") {
            self = .guests
        } else if text.hasSameBytes(as: "users") {
            self = .users
        } else if text.hasPrefix(Self.rolePrefix), !text.hasSuffix(":") {
            self = .role(String(text.dropFirst(Self.rolePrefix.count)))
        } else {
            return nil
        }
    }

    fileprivate var text: String {
        switch self {
        case .guests: "guests"
        case .users: "users"
        case .role(let name): Self.rolePrefix + name
        }
    }
}
