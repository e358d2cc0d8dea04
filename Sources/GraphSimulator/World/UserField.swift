/// One field of Graph's User node: what permission shows it and what shape its value has.
struct UserField: Sendable {
    enum Kind: Sendable {
        /// A plain value: no sub-selection, no alias.
        case scalar
        /// An object without an id of its own (`age_range`).
        case structure
        /// An object with an id, which is always in the answer (`location`).
        case node
        /// A collection or picture: takes modifiers, an alias and a sub-selection.
        case edge
        /// What Graph lets apps ask for and gives to nobody; an account has it only under `extra`.
        case withdrawn
    }

    let name: String
    let kind: Kind
    /// `nil` when any token may read it.
    let permission: String?

    /// The fields of current versions.
    ///
    /// The withdrawn ones are those of Facebook's announcement of May 1st 2018; replies have lacked them since, without
    /// an error (github.com/simi/omniauth-facebook/pull/311).
    private static let all: [UserField] =
        [
            UserField(name: "id", kind: .scalar, permission: nil),
            UserField(name: "name", kind: .scalar, permission: "public_profile"),
            UserField(name: "first_name", kind: .scalar, permission: "public_profile"),
            UserField(name: "last_name", kind: .scalar, permission: "public_profile"),
            UserField(name: "middle_name", kind: .scalar, permission: "public_profile"),
            UserField(name: "short_name", kind: .scalar, permission: "public_profile"),
            UserField(name: "name_format", kind: .scalar, permission: "public_profile"),
            UserField(name: "picture", kind: .edge, permission: "public_profile"),
            UserField(name: "email", kind: .scalar, permission: "email"),
            UserField(name: "birthday", kind: .scalar, permission: "user_birthday"),
            UserField(name: "age_range", kind: .structure, permission: "user_age_range"),
            UserField(name: "gender", kind: .scalar, permission: "user_gender"),
            UserField(name: "hometown", kind: .node, permission: "user_hometown"),
            UserField(name: "location", kind: .node, permission: "user_location"),
            UserField(name: "link", kind: .scalar, permission: "user_link"),
            UserField(name: "friends", kind: .edge, permission: "user_friends"),
            UserField(name: "permissions", kind: .edge, permission: nil),
            UserField(name: "token_for_business", kind: .scalar, permission: nil),
            UserField(name: "ids_for_business", kind: .edge, permission: nil),
        ] + withdrawn.map { UserField(name: $0, kind: .withdrawn, permission: nil) }

    private static let withdrawn = [
        "timezone", "locale", "cover", "is_verified", "updated_time", "verified", "currency", "devices",
        "third_party_id",
    ]

    static func named(_ name: String) -> UserField? {
        if name.utf8.elementsEqual("extra".utf8) { return UserField(name: "extra", kind: .structure, permission: nil) }
        return graphField(name)
    }

    /// Like ``named(_:)`` without `extra`, which is ours and no field of Graph.
    static func graphField(_ name: String) -> UserField? {
        all.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Whether a profile may hold this value under this field.
    func accepts(_ value: JSON) -> Bool {
        switch name {
        case "id", "friends", "permissions", "ids_for_business": false
        default:
            switch kind {
            case .withdrawn: false
            case .scalar: value.string != nil
            case .structure, .node, .edge: value.members != nil
            }
        }
    }

    /// What ``accepts(_:)`` wants, in words.
    var shape: String {
        switch name {
        case "id": "no \"id\" but \"ids\": {app id: user id}"
        case "ids_for_business": "nothing: it is derived from \"ids\""
        default:
            switch kind {
            case .scalar: "a string"
            case .withdrawn: "nothing: Graph gives it to nobody; it may stand under \"extra\""
            case .structure, .node, .edge: "an object"
            }
        }
    }
}
