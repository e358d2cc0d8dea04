import ArgumentParser
import Facebook
import Providers
import SignedTokens
import Vocabulary

/// What an operator decides about logins by a provider, as options: those of Facebook by names of their own, all others
/// by `--option`.
struct ProviderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The version of the Graph API, like v25.0.", valueName: "version"))
    var graphVersion: String?

    @Option(help: "The form of appsecret_proof.")
    var proof: ProofForm?

    @Option(
        help:
            "Whether our login dialog is opened with a challenge of PKCE; auto does without for an hour after Facebook has forgotten one."
    )
    var pkce: DialogChallenge?

    @Option(help: "What the nonce of an ID token must be; off is for the tokens that iOS SDK 18.1 refreshes.")
    var nonce: NoncePolicy?

    @Option(
        help: ArgumentHelp("How long after its issue an ID token is taken, like 10m; 1h at most.", valueName: "time")
    )
    var idTokenLifetime: Lifetime?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("A redirect URI that codes of clients may come with; once for each.", valueName: "url")
    )
    var redirectURIs: [String] = []

    @Option(
        name: .customLong("return-url"),
        help: ArgumentHelp(
            "Where a browser may go after a login through the server; once for each, the usual one first.",
            valueName: "url"
        )
    )
    var returnURLs: [String] = []

    @Option(
        name: .customLong("permission"),
        help: ArgumentHelp("A permission that the login dialog asks for; once for each.", valueName: "name")
    )
    var permissions: [String] = []

    @Flag(inversion: .prefixedNo, help: "The provider token of the last login is kept, encrypted.")
    var keepTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "A kept token is exchanged for one that lives some 60 days.")
    var longLivedTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "Clients may have the kept token of their user back.")
    var returnTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "Sessions end when Facebook says that their identity is revoked.")
    var endSessionsWhenRevoked: Bool?

    @Option(help: ArgumentHelp("Read the profiles of kept tokens again after so many hours.", valueName: "count"))
    var refreshHours: Int64?

    @Option(
        help: ArgumentHelp("Days from a request for deletion to the erasure; 0 erases at once.", valueName: "count")
    )
    var eraseAfterDays: Int64?

    @OptionGroup var verifyToken: VerifyTokenOptions

    @Option(
        name: .customLong("option"),
        help: ArgumentHelp(
            "An option of any kind of provider by its name in documents, as text or JSON; once for each.",
            valueName: "name=value"
        )
    )
    var others: [NamedOption] = []

    @Option(
        name: .customLong("option-file"),
        help: ArgumentHelp(
            "A secret option of any kind of provider from a file, - for standard input; once for each.",
            valueName: "name=path"
        ),
        completion: .file()
    )
    var files: [OptionFile] = []

    @Option(
        name: .customLong("default"),
        help: ArgumentHelp("Give one of these its default again, by its name in documents.", valueName: "option")
    )
    var defaults: [OptionName] = []

    /// An option by its name in documents.
    struct OptionName: ExpressibleByArgument {
        let text: String

        init?(argument: String) {
            guard Self.allValueStrings.contains(where: { $0.hasSameBytes(as: argument) }) else { return nil }
            text = argument
        }

        static var allValueStrings: [String] {
            FacebookOptionsDocument.Name.allCases.map(\.rawValue) + [ProviderOptions.verifyTokenName]
        }
    }

    /// An option with its value: JSON where the text is some, else a text.
    struct NamedOption: ExpressibleByArgument {
        let member: JSONObject.Member

        init?(argument: String) {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { return nil }
            let text = String(parts[1])
            let value = (try? JSONParser.parse(text, limits: .document)) ?? .string(text)
            member = JSONObject.Member(String(parts[0]), value)
        }
    }

    /// A file that holds an option.
    struct OptionFile: ExpressibleByArgument {
        let name: String
        let path: String

        init?(argument: String) {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            (name, path) = (String(parts[0]), String(parts[1]))
        }
    }

    var isGiven: Bool { !given.isEmpty || !files.isEmpty || verifyToken.isGiven || !defaults.isEmpty }

    /// How many of the secrets come from standard input, which is there once.
    var fromStandardInput: Int { files.count { $0.path == "-" } + (verifyToken.takesStandardInput ? 1 : 0) }

    /// The files that secrets come from.
    var inputFiles: [String] { files.map(\.path) + [verifyToken.file].compactMap(\.self) }

    /// The members of the provider's settings that were given, `null` for those that return to their default.
    ///
    /// - Throws: An exit code when a secret cannot be read, or is an argument.
    func members(of kind: any ProviderKind) throws -> [JSONObject.Member] {
        for option in kind.secretOptions
        where others.contains(where: { $0.member.key.hasSameBytes(as: option.name) && !$0.member.value.isNull }) {
            let file = "--option-file \(option.name)=FILE, where - is standard input"
            throw Exit.refusing(Secret.refusal(ofArgument: "--option \(option.name)", use: file))
        }
        var secrets = try files.map { file in
            let secret = try Secret(line: try InputFile.bytes(file.path), of: file.name)
            return JSONObject.Member(file.name, .string(secret.reveal()))
        }
        if let secret = try verifyToken.read("The verify token of the webhook") {
            secrets.append(JSONObject.Member(Self.verifyTokenName, .string(secret.reveal())))
        }
        return given + secrets + defaults.map { JSONObject.Member($0.text, .null) }
    }

    /// What is no option although it stands among them in documents, and how it is given.
    private static let ownOptions = [
        "apps": "--app-id with --secret-file or --secret-stdin", "kind": "--kind", "enabled": "--enable or --disable",
    ]

    func validate() throws {
        for name in (others.map(\.member.key) + files.map(\.name)) {
            guard let own = Self.ownOptions[name] else { continue }
            throw ValidationError(
                name == "apps"
                    ? Secret.refusal(ofArgument: "--option apps", use: own)
                    : "\(name) is no option of a provider's kind: give \(own)."
            )
        }
        let names = given.map(\.key) + files.map(\.name) + (verifyToken.isGiven ? [Self.verifyTokenName] : [])
        if let name = defaults.first(where: { name in names.contains { $0.hasSameBytes(as: name.text) } }) {
            throw ValidationError("\(name.text) is given a value and its default.")
        }
    }

    fileprivate static let verifyTokenName = "webhookVerifyToken"

    private var given: [JSONObject.Member] {
        others.map(\.member)
            + FacebookOptionsDocument.Name.allCases.compactMap { name in
                value(of: name).map { JSONObject.Member(name.rawValue, $0) }
            }
    }

    private func value(of name: FacebookOptionsDocument.Name) -> JSONValue? {
        switch name {
        case .graphVersion: graphVersion.map(JSONValue.string)
        case .proof: proof.map { .string($0.rawValue) }
        case .pkce: pkce.map { .string($0.rawValue) }
        case .nonce: nonce.map { .string($0.rawValue) }
        case .idTokenSeconds: idTokenLifetime.map { .integer($0.seconds) }
        case .redirectURIs: Self.list(redirectURIs)
        case .returnURLs: Self.list(returnURLs)
        case .permissions: Self.list(permissions)
        case .keepTokens: keepTokens.map(JSONValue.bool)
        case .longLivedTokens: longLivedTokens.map(JSONValue.bool)
        case .returnTokens: returnTokens.map(JSONValue.bool)
        case .endSessionsWhenRevoked: endSessionsWhenRevoked.map(JSONValue.bool)
        case .refreshHours: refreshHours.map(JSONValue.integer)
        case .eraseAfterDays: eraseAfterDays.map(JSONValue.integer)
        }
    }

    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map(JSONValue.string))
    }
}
