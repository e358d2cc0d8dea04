import Crypto

extension GraphSimulator {
    /// A user with a Facebook account.
    public struct Person: Sendable, Equatable {
        /// The key that identifies the user in tests and in control requests, such as `ann`.
        ///
        /// The simulated Facebook never sends it.
        public var key: String
        /// The user's profile: the fields of Graph's User node, such as `name`, `email` and `age_range`.
        ///
        /// The values have the form in which Graph returns them. A user without an `email` here has no e-mail address
        /// at Facebook.
        public var fields: JSON
        /// The app-scoped ids of the user; the keys are the ids of apps.
        ///
        /// For an app that is not listed here, the simulator computes an id from the user's key and the app id. So the
        /// user's ids for two apps differ.
        public var ids: [String: String]
        /// The permissions that the user has granted, declined or revoked.
        ///
        /// If a token has a permission that is not listed here, the permission counts as granted.
        public var permissions: [Permission]
        /// The user's friends, by their keys in the simulator's data.
        public var friends: [String]

        /// A permission and its state.
        public struct Permission: Sendable, Equatable {
            /// The permission's name: `email`.
            public var name: String
            /// The state of the permission.
            public var status: PermissionStatus

            /// Makes a permission, by default a granted one.
            public init(_ name: String, _ status: PermissionStatus = .granted) {
                self.name = name
                self.status = status
            }
        }

        /// The states of a permission in `/me/permissions`.
        public enum PermissionStatus: String, Sendable, CaseIterable {
            case granted
            case declined
            case expired
        }

        /// Makes a user, by default with `public_profile` and `email` granted.
        public init(
            _ key: String,
            fields: JSON,
            ids: [String: String] = [:],
            permissions: [Permission] = [Permission("public_profile"), Permission("email")],
            friends: [String] = []
        ) {
            self.key = key
            self.fields = fields
            self.ids = ids
            self.permissions = permissions
            self.friends = friends
        }
    }
}

typealias Person = GraphSimulator.Person

extension Person: Keyed {
    /// Returns the user's id for an app.
    ///
    /// If ``ids`` does not contain the app, the id is computed from the user's key and the app id. It then has 17
    /// digits, like the ids that Facebook assigns today.
    public func id(for app: String) -> String {
        if let id = ids[app] { return id }
        return String(10_000_000_000_000_000 + SHA256.number(of: "\(key)\n\(app)") % 30_000_000_000_000_000)
    }

    /// Sets the status of a permission, and adds the permission if the user does not have it yet.
    public mutating func set(_ permission: String, _ status: PermissionStatus) {
        if let index = permissions.firstIndex(where: { $0.name == permission }) {
            permissions[index].status = status
        } else {
            permissions.append(Permission(permission, status))
        }
    }

    func status(of permission: String) -> PermissionStatus? {
        permissions.first { $0.name == permission }?.status
    }

    /// Reads a user from one flat object.
    ///
    /// Its members are `key`, `ids`, `permissions` and `friends`. All other members are the profile.
    init(json: JSON, path: String, key: String? = nil) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let key = try reader.key("key", address: key)
        var ids: [String: String] = [:]
        for member in try reader.members("ids") ?? [] {
            guard let id = member.value.string, (1...32).contains(id.utf8.count) else {
                throw DataError(path: "\(path).ids.\(member.name)", reason: "expected a string of 1 to 32 bytes")
            }
            ids[member.name] = id
        }
        self.init(key, fields: [:], ids: ids, friends: try reader.strings("friends") ?? [])
        if let granted = try reader.members("permissions") {
            permissions = []
            for member in granted {
                guard let status = member.value.string.flatMap(PermissionStatus.init) else {
                    throw DataError(
                        path: "\(path).permissions.\(member.name)",
                        reason: "expected \"granted\", \"declined\" or \"expired\""
                    )
                }
                permissions.append(Permission(member.name, status))
            }
        }
        for member in reader.rest where member.value != .null {
            guard let field = UserField.named(member.name) else {
                throw reader.failure(member.name, "no field of a User; own fields go under \"extra\"")
            }
            guard field.accepts(member.value) else { throw reader.failure(member.name, "expected \(field.shape)") }
            fields[member.name] = member.value
        }
    }

    func check(in world: World, path: String) throws(DataError) {
        for (index, friend) in friends.enumerated() where world.people[friend] == nil {
            throw DataError(path: "\(path)friends[\(index)]", reason: "no person \"\(friend)\"")
        }
    }

    var json: JSON {
        var json: JSON = ["key": .string(key)]
        if !ids.isEmpty {
            json["ids"] = .object(ids.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        }
        for member in fields.members ?? [] { json[member.name] = member.value }
        json["permissions"] = .object(permissions.map { ($0.name, .string($0.status.rawValue)) })
        if !friends.isEmpty { json["friends"] = .strings(friends) }
        return json
    }
}

extension SHA256 {
    /// Returns a pseudorandom number that is the same for the same text.
    static func number(of text: String) -> UInt64 {
        hash(data: Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
