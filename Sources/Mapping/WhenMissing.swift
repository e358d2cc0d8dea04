import Domain

/// What happens to a property if the profile of a later login lacks the value.
package enum WhenMissing: String, Sendable, CaseIterable {
    /// The property stays unchanged.
    case keep
    /// The property is cleared, unless the entry's `sync` mode keeps its value.
    case clear
}

/// When a mapping entry clears its property.
enum Clearing: Sendable {
    case never
    /// The entry clears its property whenever the profile lacks the value.
    case always
    /// The entry clears its property if the profile has the object that would contain the value, but not the value.
    ///
    /// If only the value is absent, it no longer exists at the provider. If the object is absent, too, nothing is
    /// known: perhaps the login did not ask for the permission.
    case insideObject

    /// Creates the condition under which an entry clears its property.
    ///
    /// The entry's `whenMissing` decides. If the entry has none, the default rules decide.
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
    /// Whether an entry with this `sync` mode may clear its property by default, which means without a `whenMissing`.
    ///
    /// With `firstLogin` or `ifEmpty`, it may not, since it writes only once, or only while the property is empty.
    var mayClear: Bool { self == .always || self == .untilEdited }
}
