import Crypto

extension GraphSimulator {
    /// Somebody with a Facebook account.
    public struct Person: Sendable, Equatable {
        /// What tests and the control API call the person; never on the public port.
        public var key: String
        /// The profile by Graph's field names (`name`, `email`, `age_range`, …) with Graph's own value shapes.
        ///
        /// A field that is missing here is missing in the account.
        public var fields: JSON
        /// The app-scoped user id per app id.
        ///
        /// An app that is not listed sees an id derived from key and app, since two apps never see the same one.
        public var ids: [String: String]
        /// What the person answered when asked for a permission; anything else counts as granted when a token has it.
        public var permissions: [Permission]
        /// Keys of the friends.
        public var friends: [String]

        /// One permission and its state.
        public struct Permission: Sendable, Equatable {
            /// The permission's name: `email`.
            public var name: String
            /// Its state.
            public var status: PermissionStatus

            /// Makes a permission, granted unless told otherwise.
            public init(_ name: String, _ status: PermissionStatus = .granted) {
                self.name = name
                self.status = status
            }
        }

        /// The states that `/me/permissions` knows.
        public enum PermissionStatus: String, Sendable, CaseIterable {
            case granted
            case declined
            case expired
        }

        /// Makes a person.
        ///
        /// Without permissions, `public_profile` and `email` are granted.
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

extension Person {
    /// The app-scoped id: 17 digits like today's, unless the data names one.
    public func id(for app: String) -> String {
        if let id = ids[app] { return id }
        let digest = SHA256.hash(data: Array("\(key)\n\(app)".utf8))
        let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return String(10_000_000_000_000_000 + number % 30_000_000_000_000_000)
    }

    /// Sets one permission, adding it at the end when it is new.
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

    /// Reads a person written as one flat object: the members `key`, `ids`, `permissions` and `friends`, and
    /// everything else is the profile.
    init(json: JSON, path: String, key givenKey: String? = nil) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let key = try reader.string("key") ?? givenKey
        guard let key, !key.isEmpty, key.utf8.count <= 128 else {
            throw reader.failure("key", "expected a name of 1 to 128 bytes")
        }
        if let givenKey, givenKey != key { throw reader.failure("key", "differs from the address") }
        var ids: [String: String] = [:]
        for member in try reader.object("ids") ?? [] {
            guard let id = member.value.string, (1...32).contains(id.utf8.count) else {
                throw DataError(path: "\(path).ids.\(member.name)", reason: "expected a string of 1 to 32 bytes")
            }
            ids[member.name] = id
        }
        self.init(key, fields: [:], ids: ids, friends: try reader.strings("friends") ?? [])
        if let granted = try reader.object("permissions") {
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

    var json: JSON {
        var json: JSON = ["key": .string(key)]
        if !ids.isEmpty {
            json["ids"] = .object(ids.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) })
        }
        for member in fields.members ?? [] { json[member.name] = member.value }
        json["permissions"] = .object(permissions.map { .init($0.name, .string($0.status.rawValue)) })
        if !friends.isEmpty { json["friends"] = .array(friends.map { .string($0) }) }
        return json
    }
}
