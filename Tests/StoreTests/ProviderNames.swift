import Domain

extension ProviderName {
    /// The provider of most rows in these tests; the store itself knows no provider by name.
    static let facebook = ProviderName(known: "facebook")
}
