import Domain
import Encodings

extension SyncMode {
    /// Returns whether a later login may overwrite the user's value of a property with this `sync` mode.
    ///
    /// A login itself decides by the same rules in SQL (`LoginStatement`), on rows that it has locked.
    ///
    /// - Parameters:
    ///   - current: The user's value; nil when empty.
    ///   - lastWritten: The value that the mapping wrote last, in the property's type.
    /// - Returns: Whether the login writes its value, even if that equals the current one.
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

    /// Returns whether PostgreSQL's operator `is not distinct from` would find the two values equal.
    func isStoredLike(_ other: PropertyValue?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (.json(let left), .json(let right)): left.isStoredLike(right)
        default: self == other
        }
    }
}

extension JSONValue {
    /// Returns whether the two values are equal as `jsonb`: their numbers are compared by value, not by notation.
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
