import Vocabulary

/// What becomes of a property when a later profile lacks the value.
package enum WhenMissing: String, Sendable, CaseIterable {
    /// It stays as it is.
    case keep
    /// It is emptied where `sync` would write a value over what is there.
    case clear
}

/// When an entry empties its property.
enum Clearing: Sendable {
    case never
    /// Whenever the profile lacks the value.
    case always
    /// When the object is there in which the value would stand: what the object does not say is then no longer so.
    /// Without the object nothing is known, as where a permission was not asked for.
    case insideObject

    /// - Parameters:
    ///   - entry: What the document says, or what follows where it says nothing.
    ///   - required: Whether a user cannot be without the property.
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
    /// Whether a lack can be written over a value: the other modes write where there is none, or once.
    var mayClear: Bool { self == .always || self == .untilEdited }
}
