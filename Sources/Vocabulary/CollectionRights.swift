/// Who may do what in the users collection.
///
/// Servers may do everything, and a user sees and changes the own record, whatever stands here.
package struct CollectionRights: Sendable, Equatable {
    package enum Right: String, Sendable, CaseIterable {
        /// To search others by what they show, and to count them.
        case find
        /// To read what others show, by their ids.
        case readOthers
        /// To change what others show and clients may write.
        case updateOthers
        /// To delete the own account.
        case deleteOwn
    }

    /// Who has a right by it.
    package enum Grantee: Sendable, Equatable {
        case guests
        /// Everybody with an account.
        case users
        /// Who was given that role of the application.
        case role(String)
    }

    private var grantees: [Right: [Grantee]] = [.deleteOwn: [.users, .guests]]

    package init() {}

    package subscript(right: Right) -> [Grantee] {
        get { grantees[right] ?? [] }
        set { grantees[right] = newValue.isEmpty ? nil : newValue }
    }
}

/// For whom a reply about a user is.
package enum Viewer: Sendable {
    case server
    /// The user whose record it is.
    case owner
    /// Another user.
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
