import Vocabulary

extension SyncMode {
    /// Whether a repeated login writes a value over what the user has.
    ///
    /// The rules of `SignInStatement` once more: there they are SQL, so that a login decides by the values that it
    /// locks.
    ///
    /// - Parameters:
    ///   - current: What the user has; nil when empty.
    ///   - lastWritten: What the mapping recorded as written last, in the form of the property.
    /// - Returns: Whether the value is written; it may still be the one that is there.
    func writes(over current: PropertyValue?, lastWritten: PropertyValue?) -> Bool {
        switch self {
        case .always: true
        case .firstLogin: false
        case .ifEmpty: current.isEmpty
        case .untilEdited: current.isStoredLike(lastWritten)
        }
    }
}

extension PropertyValue? {
    fileprivate var isEmpty: Bool {
        switch self {
        case nil: true
        case .text(let text): text.utf8.isEmpty
        default: false
        }
    }

    /// Whether PostgreSQL takes both for the same: `is not distinct from`.
    func isStoredLike(_ other: PropertyValue?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (.json(let left), .json(let right)): left.isStoredLike(right)
        default: self == other
        }
    }
}

extension JSONValue {
    /// Equality of jsonb: numbers by their value, however they are written.
    fileprivate func isStoredLike(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)):
            let (leftInteger, rightInteger) = (left.exactInteger, right.exactInteger)
            if leftInteger != nil || rightInteger != nil { return leftInteger == rightInteger }
            return left == right || (left.double != nil && left.double == right.double)
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.isStoredLike($1) }
        case (.object(let left), .object(let right)):
            return left.members.count == right.members.count
                && left.members.allSatisfy { member in right[member.key]?.isStoredLike(member.value) ?? false }
        default: return self == other
        }
    }
}
