package import Description
package import Encodings

/// The rule by which a merge chooses between the values that two users have for a property.
package enum MergeRule: String, Sendable, CaseIterable {
    /// The surviving user keeps its value, even if it has none.
    case keep
    /// The surviving user keeps its value, and takes the other one if it has none.
    case fill
    /// The surviving user takes the other value, unless the other user has none.
    case take
    /// As the mappings say: a property that every login of the other user overwrites is taken, any other is filled.
    case sync
}

/// The rules of a merge: one for all properties, and others for single properties.
package struct MergeRules: Sendable {
    package let general: MergeRule
    /// The rules of single properties by name, at most one for each name.
    package let properties: [(name: String, rule: MergeRule)]

    package init(general: MergeRule = .fill, properties: [(name: String, rule: MergeRule)] = []) {
        self.general = general
        self.properties = properties
    }

    /// Returns the rules with `take` or `fill` in place of `sync`.
    ///
    /// - Parameter overwritten: The names of the properties that every login of the other user overwrites.
    /// - Returns: The rules.
    package func resolved(overwritten: [String]) -> MergeRules {
        func isOverwritten(_ name: String) -> Bool { overwritten.contains { $0.hasSameBytes(as: name) } }
        var properties = properties.map { name, rule in
            (name: name, rule: rule == .sync ? (isOverwritten(name) ? MergeRule.take : .fill) : rule)
        }
        guard general == .sync else { return MergeRules(general: general, properties: properties) }
        properties += overwritten.filter { own(of: $0) == nil }.map { (name: $0, rule: MergeRule.take) }
        return MergeRules(general: .fill, properties: properties)
    }

    fileprivate func own(of name: String) -> MergeRule? {
        properties.first { $0.name.hasSameBytes(as: name) }?.rule
    }
}

/// One of the two users of a merge, as far as the plan depends on the user.
package struct MergeSide: Sendable {
    package let user: User
    package let hasPassword: Bool

    package init(user: User, hasPassword: Bool) {
        self.user = user
        self.hasPassword = hasPassword
    }
}

/// What a merge makes of two users: whose value the surviving user gets for each property.
///
/// Login methods, second factors and roles are not part of the plan, since the surviving user gets those of both.
package struct MergePlan: Sendable {
    /// What becomes of the passwords.
    ///
    /// A user has at most one.
    package enum Password: String, Sendable {
        case none
        /// The surviving user keeps its password. A password of the other user is dropped.
        case kept
        /// The surviving user had no password, and gets the one of the other user with its login name.
        case taken
    }

    /// The declared and built-in properties whose values the surviving user takes.
    package let taken: [PropertyName]
    /// The undeclared properties of the surviving user after the merge.
    package let dynamic: JSONObject
    /// The names of the undeclared properties whose values the surviving user takes.
    package let takenDynamic: [String]
    package let emailVerified: Bool
    package let status: UserStatus
    package let password: Password

    /// Decides what a merge makes of two users.
    ///
    /// A login name belongs to its password. So if the surviving user takes the password of the other user, it also
    /// takes the property with the login name, and a surviving user with a password keeps that property. A ban of
    /// either user counts for the survivor.
    ///
    /// - Parameters:
    ///   - survivor: The user who stays.
    ///   - merged: The user who becomes a part of the survivor.
    ///   - rules: The rules for the properties.
    ///   - identity: The property with the login name.
    /// - Throws: `malformed_request` for a rule about the login name that contradicts the password.
    package init(
        of survivor: MergeSide,
        and merged: MergeSide,
        by rules: MergeRules,
        identity: PropertyName
    ) throws(Failure) {
        let password: Password = survivor.hasPassword ? .kept : merged.hasPassword ? .taken : .none
        self.password = password
        var taken: [PropertyName] = []
        for (name, own, _) in survivor.user.properties {
            let other = merged.user.properties.first { $0.name == name }?.value
            guard let other, own != other else { continue }
            if name == identity, password != .none {
                let isTaken = password == .taken
                guard rules.own(of: name.text).map({ $0 != (isTaken ? .keep : .take) }) ?? true else {
                    throw Self.contradiction(about: name, isTaken: isTaken)
                }
                if isTaken { taken.append(name) }
                continue
            }
            switch rules.own(of: name.text) ?? rules.general {
            case .keep: continue
            case .fill, .sync: if own.map(\.isEmpty) ?? true { taken.append(name) }
            case .take: if !other.isEmpty { taken.append(name) }
            }
        }
        self.taken = taken
        (dynamic, takenDynamic) = Self.dynamic(survivor.user.dynamic, merged.user.dynamic, by: rules)
        emailVerified =
            taken.contains(.email)
            ? merged.user.emailVerified
            : survivor.user.emailVerified || (merged.user.emailVerified && survivor.user.hasAddress(of: merged.user))
        let statuses = [survivor.user.status, merged.user.status]
        status =
            statuses.contains(.disabled) ? .disabled : statuses.contains(.enabled) ? .enabled : survivor.user.status
    }

    private static func dynamic(
        _ own: JSONObject,
        _ other: JSONObject,
        by rules: MergeRules
    ) -> (JSONObject, taken: [String]) {
        var members = own.members
        var places = own.places
        var taken: [String] = []
        for member in other.members where member.value != .null {
            let place = places[Array(member.key.utf8)]
            let isEmpty = place.map { members[$0].value == .null || members[$0].value == .string("") } ?? true
            switch rules.own(of: member.key) ?? rules.general {
            case .keep: continue
            case .fill, .sync: guard isEmpty else { continue }
            case .take: break
            }
            if let place {
                guard members[place].value != member.value else { continue }
                members[place] = member
            } else {
                places[Array(member.key.utf8)] = members.count
                members.append(member)
            }
            taken.append(member.key)
        }
        return (JSONObject(members), taken)
    }

    private static func contradiction(about name: PropertyName, isTaken: Bool) -> Failure {
        Failure(
            .malformedRequest,
            isTaken
                ? """
                The surviving user takes the password of the other one, whose login name is the property \(name.text). \
                Leave out the rule of this property, or remove that password first.
                """
                : """
                The surviving user logs in with a password, whose login name is the property \(name.text). Leave out \
                the rule of this property, or let the other user survive.
                """
        )
    }
}

extension JSONObject {
    /// The positions of the members, by the bytes of their keys (decision D5).
    fileprivate var places: [[UInt8]: Int] {
        Dictionary(members.enumerated().map { (Array($1.key.utf8), $0) }) { first, _ in first }
    }
}

extension PropertyValue {
    fileprivate var isEmpty: Bool {
        switch self {
        case .text(let text): text.isEmpty
        case .json(let value): value == .null
        case .integer, .double, .boolean, .date, .dateTime: false
        }
    }
}

extension User {
    fileprivate func hasAddress(of other: User) -> Bool {
        guard let own = email, let theirs = other.email else { return false }
        return own.hasSameBytes(as: theirs)
    }
}

/// What a merge would make of two users, for the human who decides.
package struct MergePreview: Sendable {
    package let survivor: ObjectID
    package let merged: ObjectID
    package let password: MergePlan.Password
    package let properties: [MergedProperty]

    package init(of survivor: User, and merged: User, by plan: MergePlan) {
        self.survivor = survivor.objectID
        self.merged = merged.objectID
        password = plan.password
        properties = plan.properties(of: survivor, and: merged)
    }
}

/// A property of two users of whom at least one has a value, and whose value the survivor of their merge gets.
package struct MergedProperty: Sendable {
    package let name: String
    /// The value of the survivor; nil if it has none.
    package let own: JSONValue?
    /// The value of the merged user; nil if it has none.
    package let other: JSONValue?
    /// Whether the survivor gets the value of the merged user.
    package let isTaken: Bool
    package let visibleTo: Visibility
}

extension MergePlan {
    /// Returns what the plan makes of each property of which at least one of the users has a value.
    ///
    /// Undeclared properties are visible to the user.
    package func properties(of survivor: User, and merged: User) -> [MergedProperty] {
        var properties: [MergedProperty] = []
        for (name, own, visibleTo) in survivor.properties {
            let other = merged.properties.first { $0.name == name }?.value
            guard own != nil || other != nil else { continue }
            properties.append(
                MergedProperty(
                    name: name.text,
                    own: own?.json,
                    other: other?.json,
                    isTaken: taken.contains(name),
                    visibleTo: visibleTo
                )
            )
        }
        let (own, others) = (survivor.dynamic.places, merged.dynamic.places)
        let taken = Set(takenDynamic.map { Array($0.utf8) })
        let added = merged.dynamic.members.filter { own[Array($0.key.utf8)] == nil }
        for member in survivor.dynamic.members + added {
            let key = Array(member.key.utf8)
            func value(_ object: JSONObject, _ places: [[UInt8]: Int]) -> JSONValue? {
                places[key].map { object.members[$0].value }.flatMap { $0 == .null ? nil : $0 }
            }
            properties.append(
                MergedProperty(
                    name: member.key,
                    own: value(survivor.dynamic, own),
                    other: value(merged.dynamic, others),
                    isTaken: taken.contains(key),
                    visibleTo: .owner
                )
            )
        }
        return properties
    }
}

extension MergedProperty {
    /// The property as `{"survivor": value, "merged": value, "result": "survivor" | "merged"}`.
    package var json: JSONValue {
        .object([
            "survivor": own ?? .null, "merged": other ?? .null, "result": .string(isTaken ? "merged" : "survivor"),
        ])
    }
}

extension Schema {
    package static let mergeRule = Schema.cases(of: MergeRule.self).described(
        """
        Whose value the survivor gets: keep, the survivor's; fill (the default), the other one if the survivor has \
        none; take, the other one if there is one; sync, take for properties that each login of the other user \
        overwrites, and fill for others.
        """
    )
    package static let mergeRules = Schema.dictionary(of: .cases(of: MergeRule.self)).described(
        "The rules of single properties, by name."
    )
    package static let mergedPassword = Schema.oneOf("none", "kept", "taken").described(
        "kept: the survivor has a password and keeps it. taken: the survivor gets the password of the other user."
    )
    package static let mergedProperties = Schema.dictionary(
        of: .object(["survivor": Schema(), "merged": Schema(), "result": .oneOf("survivor", "merged")])
    ).described("The properties of which a user has a value: both values, and whose value stays.")
}
