import Domain

/// What happens to a property if the profile of a later login lacks the value.
package enum WhenMissing: String, Sendable, CaseIterable {
    /// The property stays unchanged.
    case keep
    /// The property is cleared if the entry's `sync` mode would overwrite its value.
    case clear
}

/// When a mapping entry clears its property.
enum Clearing: Sendable {
    case never
    /// The entry clears its property whenever the profile lacks the value.
    case always
    /// The entry clears its property if the profile has the object that would contain the value, but not the value.
    ///
    /// A value absent from the object no longer exists. If the object is absent, too, nothing is known: perhaps the
    /// login did not ask for the permission.
    case insideObject

    /// Creates the condition from the entry's `whenMissing`, or from the default rules if the entry has none.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - required: Whether the property is required.
    init(_ entry: MappingEntry, required: Bool) {
        switch entry.whenMissing {
        case .keep: self = .never
        case .clear: self = .always
        case nil:
            guard case .path(let path) = entry.from, !path.inner.isEmpty, entry.sync.mayClear, !required else {
                self = .never
                return
            }
            self = .insideObject
        }
    }
}

extension SyncMode {
    /// Whether an entry with this `sync` mode may clear its property if the entry has no `whenMissing`.
    ///
    /// Entries with `firstLogin` or `ifEmpty` may not, since they write only once, or only while the property is empty.
    var mayClear: Bool { self == .always || self == .untilEdited }
}
