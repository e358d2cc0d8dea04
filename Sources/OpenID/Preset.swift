import Description
import Domain
import Encodings
import SignedTokens

/// The options of a known provider, as a document.
///
/// A document is a JSON object:
///
///     {"name": "google", "title": "Google", "issuer": "https://accounts.google.com",
///      "issuers": ["accounts.google.com"], "algorithms": ["RS256"], "subject": "sub",
///      "scopes": ["openid", "email", "profile"]}
///
/// All members except `name` may be absent. `issuers` are further values of `iss` that the issuer writes.
struct Preset: Sendable {
    let name: String
    let title: String?
    let issuer: String?
    let issuers: [String]
    let algorithms: [SignatureAlgorithm]?
    let subject: SubjectClaims?
    let scopes: [String]?
    /// Whether the dialog answers by a form (`response_mode=form_post`).
    let answersByForm: Bool

    /// Reads a document; nil if it is none.
    init?(_ document: JSONObject) {
        guard let name = document["name"]?.string, ProviderNameRule.rule.problem(name) == nil else { return nil }
        self.name = name
        title = document["title"]?.string
        issuer = document["issuer"]?.string
        issuers = document["issuers"]?.array?.compactMap(\.string) ?? []
        algorithms = document["algorithms"]?.array?.compactMap {
            $0.string.flatMap { SignatureAlgorithm(rawValue: $0) }
        }
        subject = document["subject"]?.string.flatMap { SubjectClaims(rawValue: $0) }
        scopes = document["scopes"]?.array?.compactMap(\.string)
        answersByForm = document["responseMode"]?.string?.hasSameBytes(as: "form_post") ?? false
    }
}

/// The presets that the service ships.
enum Presets {
    /// The documents, in the order of docs/providers/README.md.
    static let all: [Preset] = {
        let text = String(decoding: PackageResources.presets_json, as: UTF8.self)
        let documents = (try? JSONParser.parse(text, limits: .stored))?.array ?? []
        return documents.compactMap { $0.object.flatMap(Preset.init) }
    }()

    /// The names of all presets, for a sentence.
    static let names = all.map(\.name).joined(separator: ", ")

    static func named(_ name: String) -> Preset? { all.first { $0.name.hasSameBytes(as: name) } }
}
