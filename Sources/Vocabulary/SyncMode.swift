/// When a mapping writes a property that the profile has a value for.
package enum SyncMode: String, Sendable, CaseIterable {
    /// At every login.
    case always
    /// Only when the login creates the user.
    case firstLogin
    /// As long as the property has no value or an empty text.
    case ifEmpty
    /// As long as the stored value is the one that the mapping wrote last.
    case untilEdited
}
