import Vocabulary

extension ProviderName {
    /// The store knows no provider; most rows of these tests are of this one.
    static let facebook = ProviderName(known: "facebook")
}
