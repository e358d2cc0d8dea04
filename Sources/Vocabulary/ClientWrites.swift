/// What becomes of values that clients write for properties that nobody declared (decision D19).
package enum UndeclaredProperties: String, Sendable, CaseIterable {
    /// The whole record is refused, by their names.
    case refuse
    /// They are kept as they are, in the column `dynamic`.
    case store
    /// They are passed over, and the reply names them.
    case drop
}

/// What becomes of a moment that a client writes without its offset from UTC: which one it is, only the device knows.
package enum OffsetlessTimes: String, Sendable, CaseIterable {
    case refuse
    /// It is one in UTC.
    case utc
}

extension ApplicationSettings {
    /// What becomes of undeclared properties, whether the operator has said so or not.
    package var undeclared: UndeclaredProperties { undeclaredProperties ?? (dynamicProperties ? .store : .refuse) }
}
