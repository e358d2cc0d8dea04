import Identity

/// The user object of replies: flat, as client SDKs expect it (backendless.md §3.1).
enum UserReply {
    /// Writes the object, with the `user-token` of a login, and only the members that were asked for if some were.
    static func write(_ user: User, token: SessionToken? = nil, selection: Selection? = nil) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            func member(_ key: String, _ value: @autoclosure () -> JSONValue) {
                if selection?.contains(key) ?? true { writer.member(key, value()) }
            }
            member("___class", .string("Users"))
            member("objectId", .string(user.objectID.description))
            member("ownerId", .string(user.objectID.description))
            member("created", .integer(user.created))
            member("updated", user.updated.map(JSONValue.integer) ?? .null)
            member("lastLogin", user.lastLogin.map(JSONValue.integer) ?? .null)
            member("userStatus", .string(user.status.rawValue))
            member("socialAccount", user.socialAccount.map(JSONValue.string) ?? .null)
            member("blUserLocale", user.locale.map(JSONValue.string) ?? .null)
            for (name, value) in user.properties { member(name.text, value?.json ?? .null) }
            for dynamic in user.dynamic.members { member(dynamic.key, dynamic.value) }
            if let token { writer.member("user-token", token.secret.reveal()) }
        }
        return writer
    }

    /// The members that a caller asked for by `props=a,b`.
    struct Selection {
        private let names: [Substring]

        /// As many names as an object of ours may have members.
        private static let most = 512

        /// Reads the list; nil when it names nothing, and then every member is meant.
        init?(_ list: String?) {
            let names = (list ?? "").split(separator: ",", maxSplits: Self.most)
            guard !names.isEmpty else { return nil }
            self.names = names
        }

        func contains(_ key: String) -> Bool {
            names.contains { $0.utf8.elementsEqual(key.utf8) }
        }
    }
}
