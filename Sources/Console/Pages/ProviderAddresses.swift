import Encodings
import Pages

/// The URLs of this service that an operator enters at a provider, with buttons that copy them.
///
/// docs/operations/install.md lists the same URLs.
struct ProviderAddresses {
    private let application: String
    private let provider: String
    private let kind: ProviderCard?
    /// The application's API key, which is part of the URLs.
    ///
    /// Nil if it is unknown, since the service stores only the key's hash.
    private let key: String?
    private let publicURL: String?
    private let hostNames: [String]
    /// Whether the application has an account page.
    private let hasAccountPage: Bool

    /// - Parameters:
    ///   - provider: The provider's name in paths.
    ///   - kind: The provider kind; nil where it is unknown.
    ///   - key: The API key of clients, where it is known.
    ///   - application: The application as the administration returns it.
    ///   - publicURL: The URL at which clients reach the service.
    init(provider: String, kind: ProviderCard?, key: String?, of application: JSONObject?, at publicURL: String?) {
        (self.provider, self.kind, self.key, self.publicURL) = (provider, kind, key, publicURL)
        self.application = application?["application"]?.string ?? ""
        let settings = application?["settings"]?.object
        hostNames = settings?["hostNames"]?.array?.compactMap(\.string) ?? []
        hasAccountPage = settings?["pages"]?.object?["account"]?.bool ?? false
    }

    /// The placeholders in the URLs for an API key and a host that the console does not know.
    static let (unknownKey, unknownHost) = ("KEY", "https://YOUR-HOST")

    private var server: String { publicURL ?? Self.unknownHost }

    /// A row for each URL: the page in the provider's own console, the title of the field on that page, and the URL.
    private var rows: [(place: String, name: String, address: String)] {
        let path = "/users/oauth/\(provider)"
        let base = "\(server)/\(application)/\(key ?? Self.unknownKey)\(path)"
        let dialogs =
            [base + "/authorize"] + hostNames.map { "https://\($0)/api\(path)/authorize" }
            + (hasAccountPage ? ["\(server)/\(application)/account/providers/\(provider)/authorize"] : [])
        let callbacks = kind?.callbacks.map { ($0.place, $0.title, "\(base)/\($0.name)") } ?? []
        let returns = kind?.dialogReturn.map { entered in dialogs.map { (entered.place, entered.title, $0) } } ?? []
        return returns + callbacks
    }

    /// Whether there is no URL that the operator has to enter at the provider.
    var isEmpty: Bool { rows.isEmpty }

    var html: HTML {
        guard !isEmpty else { return "" }
        let table = HTML.table(
            "Addresses",
            ["Where to enter it", "What", "Address"],
            rows.map { row in ["\(row.place)", "\(row.name)", .copied(row.address, row.name)] },
            ifEmpty: ""
        )
        let filling: HTML = """
            <p class="field scripted"><label for="known-key">API key to show in these URLs</label>\
            <input id="known-key" autocomplete="off" spellcheck="false"></p>
            """
        return """
            <div class="addresses">\(table)\(Self.placeholders(key: key, publicURL: publicURL))\(filling, if: key == nil)</div>
            """
    }

    /// Returns a text that explains which placeholders the operator must replace in the URLs.
    static func placeholders(key: String?, publicURL: String?) -> HTML {
        """
        \("<p class=\"fine\">\(unknownKey) stands for an API key, which is shown only when it is created.</p>", if: key == nil)\
        \("<p class=\"fine\">YOUR-HOST stands for the public host, because FEDERATION_PUBLIC_URL is not set.</p>", if: publicURL == nil)
        """
    }
}
