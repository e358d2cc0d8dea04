import FoundationEssentials

/// Secrets and personal values of these tests: each holds a word that occurs nowhere else, so that one search through
/// logs, replies and tables finds any of them (T-110).
enum Canary {
    /// The word, in small letters.
    static let mark = "canary"

    static let apiKey = "canary_key_0123456789"
    /// A second application's key.
    static let otherAPIKey = "canary_other_key_0123456789"
    /// A server's key.
    static let serverAPIKey = "canary_server_key_0123456789"
    /// The secret of a Facebook app.
    static func appSecret(of app: String) -> String { "canary-secret-of-\(app)" }
    /// 32 bytes that are readable, so that they are found in either form.
    static let masterKey = Data("canary-master-key-of-32-bytes-!!".utf8).base64EncodedString()
}
