import Vocabulary

extension ProviderName {
    static let facebook = ProviderName(known: "facebook")
}
