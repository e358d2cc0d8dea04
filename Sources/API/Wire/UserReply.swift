import Federation
import Identity

/// The user object of replies.
enum UserReply {
    /// Writes the object, with the `user-token` of a login, and only the members that were asked for if some were.
    static func write(_ user: User, token: SessionToken? = nil, selection: Selection? = nil) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            user.forEachMember { key, value in
                if selection?.contains(key) ?? true { writer.member(key, value()) }
            }
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
