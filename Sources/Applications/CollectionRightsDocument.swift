import Vocabulary

/// `{"find": ["users"], "readOthers": ["guests", "role:editor"], …}`: who has each right, besides servers.
extension CollectionRights {
    private static let mostGrantees = 100

    /// Reads the rights; those that are absent keep their default.
    init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            guard let right = Right.allCases.first(where: { $0.rawValue.hasSameBytes(as: member.key) }) else {
                let known = Right.allCases.map(\.rawValue)
                problems.add(unknown: member.key, at: place, among: known, "is no right in the users collection")
                continue
            }
            let names = problems.texts(member.value, at: place, most: Self.mostGrantees) { text in
                Grantee(text) == nil
                    ? "must be \"users\", \"guests\" or \"role:\" with the name of a role behind it" : nil
            }
            self[right] = names.compactMap { Grantee($0) }
        }
    }

    /// Notes each role that the application does not have: nobody could be given it.
    func check(roles: [String], at place: JSONPointer, problems: inout DocumentProblems) {
        for right in Right.allCases {
            for case .role(let role) in self[right] where !roles.contains(where: { $0.hasSameBytes(as: role) }) {
                problems.add(place / right.rawValue, "names \(Grantee.rolePrefix)\(role), which is not among the roles")
            }
        }
    }

    var document: JSONValue {
        .object(
            JSONObject(
                Right.allCases.map { right in .init(right.rawValue, .array(self[right].map { .string($0.text) })) }
            )
        )
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
