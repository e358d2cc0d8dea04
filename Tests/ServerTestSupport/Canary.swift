import FoundationEssentials

/// The secrets and personal values of these tests (T-110).
///
/// Each contains a word that occurs nowhere else, so that one search through logs, responses and tables finds any.
enum Canary {
    /// The word in lower case.
    static let mark = "canary"

    static let apiKey = "canary_key_0123456789"
    /// The API key of a second application.
    static let otherAPIKey = "canary_other_key_0123456789"
    /// The server API key.
    static let serverAPIKey = "canary_server_key_0123456789"
    /// Returns the secret of a Facebook app.
    static func appSecret(of app: String) -> String { "canary-secret-of-\(app)" }
    /// 32 readable bytes, so that a search finds both the base64 and the decoded form.
    static let masterKey = Data("canary-master-key-of-32-bytes-!!".utf8).base64EncodedString()
}
