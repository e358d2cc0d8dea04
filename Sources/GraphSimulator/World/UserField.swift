import Encodings

/// A field of Graph's User node: its name, its kind, and the permission that it requires.
struct UserField: Sendable {
    enum Kind: Sendable {
        /// A field with a plain value.
        ///
        /// Requests cannot select parts of the value, and cannot give the field an alias.
        case scalar
        /// An object, such as `age_range`.
        ///
        /// If the object has an id, as `location` has, the id is always returned.
        case object
        /// A field with a collection or a picture.
        ///
        /// Requests can add modifiers and an alias, and can select parts of the value.
        case edge
        /// A field that apps may request, although Graph no longer returns it.
        ///
        /// The simulator returns the field only if the user's data contains it under `extra`.
        case withdrawn
    }

    let name: String
    let kind: Kind
    /// The required permission; `nil` if any token may read the field.
    let permission: String?

    /// The fields of Graph's User node in the current versions, with the withdrawn fields.
    ///
    /// Facebook withdrew fields with its announcement of May 1st, 2018. Since then, requests for them succeed, but the
    /// responses do not contain them (github.com/simi/omniauth-facebook/pull/311).
    private static let all: [UserField] = [
        (nil, .scalar, ["id", "token_for_business"]), (nil, .edge, ["permissions", "ids_for_business"]),
        (
            "public_profile", .scalar,
            ["name", "first_name", "last_name", "middle_name", "short_name", "name_format"]
        ),
        ("public_profile", .edge, ["picture"]), ("email", .scalar, ["email"]),
        ("user_birthday", .scalar, ["birthday"]), ("user_age_range", .object, ["age_range"]),
        ("user_gender", .scalar, ["gender"]), ("user_hometown", .object, ["hometown"]),
        ("user_location", .object, ["location"]), ("user_link", .scalar, ["link"]),
        ("user_friends", .edge, ["friends"]),
        (
            nil, .withdrawn,
            [
                "timezone", "locale", "cover", "is_verified", "updated_time", "verified", "currency", "devices",
                "third_party_id",
            ]
        ),
    ].flatMap { (permission: String?, kind: Kind, names: [String]) in
        names.map { UserField(name: $0, kind: kind, permission: permission) }
    }

    static func named(_ name: String) -> UserField? {
        if name.hasSameBytes(as: "extra") { return UserField(name: "extra", kind: .object, permission: nil) }
        return graphField(name)
    }

    /// Returns the field with this name if Graph's User node has it; `nil` for any other name.
    ///
    /// In contrast, ``named(_:)`` also returns the field `extra`, which belongs to the simulator and not to Graph.
    static func graphField(_ name: String) -> UserField? {
        all.first { $0.name.hasSameBytes(as: name) }
    }

    /// Whether a user's data may contain this value for this field.
    func accepts(_ value: JSON) -> Bool {
        switch name {
        case "id", "friends", "permissions", "ids_for_business": false
        default:
            switch kind {
            case .withdrawn: false
            case .scalar: value.string != nil
            case .object, .edge: value.members != nil
            }
        }
    }

    /// A description of the values that ``accepts(_:)`` allows.
    var shape: String {
        switch name {
        case "id": "no \"id\" but \"ids\": {app id: user id}"
        case "ids_for_business": "nothing: it is derived from \"ids\""
        default:
            switch kind {
            case .scalar: "a string"
            case .withdrawn: "nothing: Graph gives it to nobody; it may stand under \"extra\""
            case .object, .edge: "an object"
            }
        }
    }
}

extension GraphSimulator {
    /// A field of Graph's User node that Facebook has removed.
    ///
    /// From the version of the removal on, requests for the field get error 12.
    public struct RemovedField: Sendable, Equatable {
        /// The field's name in Graph.
        public internal(set) var name: String
        /// The first version that lacks the field.
        let since: GraphVersion

        /// Makes a removed field from its name and the first version that lacks it, such as `v25.0`.
        ///
        /// - Throws: ``DataError`` for a malformed version.
        public init(_ name: String, since version: String) throws(DataError) {
            guard let since = GraphVersion(pathComponent: version) else {
                throw DataError(path: "since", reason: "expected a version such as v25.0")
            }
            self.init(name, since: since)
        }

        private init(_ name: String, since: GraphVersion) {
            self.name = name
            self.since = since
        }

        /// The fields that Facebook has removed from Graph.
        static let known = [RemovedField("username", since: GraphVersion(major: 2, minor: 0))]
    }
}

typealias RemovedField = GraphSimulator.RemovedField

extension RemovedField: Keyed {
    static let keyName = "name"

    var key: String {
        get { name }
        set { name = newValue }
    }

    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let version = try reader.requiredString("since")
        try reader.finish()
        do {
            try self.init(key ?? "", since: version)
        } catch {
            throw reader.failure("since", error.reason)
        }
    }

    var json: JSON { ["since": .string(since.description)] }
}
