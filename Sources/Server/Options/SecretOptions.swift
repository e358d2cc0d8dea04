import ArgumentParser
import Vocabulary

/// Where a command takes a secret from: a file, standard input, or a person who types it unseen.
///
/// An argument is never taken: every process on the machine can read it, and the shell writes it into its history. The
/// option that people try is known only to say so.
protocol SecretOptions: ParsableArguments {
    /// The name of the options, such as `secret` for `--secret-file`.
    static var option: String { get }
    /// Whether a person has chosen it, of any characters.
    static var isText: Bool { get }
    var file: String? { get }
    var stdin: Bool { get }
    var argument: String? { get }
}

extension SecretOptions {
    static var isText: Bool { false }

    func validate() throws {
        let (file, stdin) = ("--\(Self.option)-file", "--\(Self.option)-stdin")
        guard argument == nil else {
            throw ValidationError(Secret.refusal(ofArgument: "--\(Self.option)", use: "\(file) or \(stdin)"))
        }
        guard self.file == nil || !self.stdin else { throw ValidationError("Give \(file) or \(stdin), not both.") }
    }

    /// Whether the command was told where to take it from.
    var isGiven: Bool { file != nil || stdin }

    /// Whether it comes from standard input, which is there once.
    var takesStandardInput: Bool { stdin || file == "-" }

    /// The secret from where the options say.
    ///
    /// - Parameter name: What the secret is, for messages.
    /// - Returns: Nil when no option was given.
    /// - Throws: An exit code after saying why there is none.
    func read(_ name: String) throws -> Secret? {
        if let file { return try Secret(line: try InputFile.bytes(file), of: name, isText: Self.isText) }
        guard stdin else { return nil }
        guard !Terminal.inputIsTerminal else { return try Self.ask(name) }
        return try Secret(line: try InputFile.bytes("-"), of: name, isText: Self.isText)
    }

    /// The secret from where the options say, or from the person at the terminal.
    func require(_ name: String) throws -> Secret {
        if let secret = try read(name) { return secret }
        guard Terminal.canAsk else {
            throw Exit.refusing("\(name) is needed: give --\(Self.option)-file or --\(Self.option)-stdin.")
        }
        return try Self.ask(name)
    }

    private static func ask(_ name: String) throws -> Secret {
        let line = Array((Terminal.askHidden("\(name) (is not shown):") ?? "").utf8)
        return try Secret(line: line, of: name, isText: isText)
    }
}

extension Secret {
    /// Why a secret is not taken as an argument, and what to do.
    static func refusal(ofArgument argument: String, use others: String) -> String {
        """
        \(argument) is refused: an argument can be read by everybody on this machine, and it stays in the shell's history. Use \
        \(others), and replace what you have just typed if it was real.
        """
    }

    /// One line without the line break that files end with.
    ///
    /// - Throws: An exit code after saying what is wrong.
    init(line bytes: [UInt8], of name: String, isText: Bool = false) throws {
        var line = bytes[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else { throw Exit.saying("federation: \(name) is empty", Exit.dataError) }
        if isText {
            guard let text = String(validating: line, as: UTF8.self), !text.utf8.contains(0x0A) else {
                throw Exit.saying("federation: \(name) must be one line of UTF-8", Exit.dataError)
            }
            self.init(text)
            return
        }
        guard line.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw Exit.saying(
                "federation: \(name) must be one line of visible ASCII characters without spaces",
                Exit.dataError
            )
        }
        self.init(String(decoding: line, as: UTF8.self))
    }
}

/// The secret of an app at a provider.
struct AppSecretOptions: SecretOptions {
    static let option = "secret"

    @Option(name: .customLong("secret-file"), help: "File that holds the app secret.", completion: .file())
    var file: String?

    @Flag(name: .customLong("secret-stdin"), help: "Read the app secret from standard input.")
    var stdin = false

    @Option(name: [.customLong("secret"), .customLong("app-secret")], help: .private)
    var argument: String?
}

/// What Facebook repeats when it sets up the webhook.
struct VerifyTokenOptions: SecretOptions {
    static let option = "webhook-verify-token"

    @Option(
        name: .customLong("webhook-verify-token-file"),
        help: "File that holds the text that Facebook repeats when it sets up the webhook.",
        completion: .file()
    )
    var file: String?

    @Flag(name: .customLong("webhook-verify-token-stdin"), help: "Read that text from standard input.")
    var stdin = false

    @Option(name: [.customLong("webhook-verify-token")], help: .private)
    var argument: String?
}

/// An API key that exists already.
struct APIKeyOptions: SecretOptions {
    static let option = "key"

    @Option(name: .customLong("key-file"), help: "File that holds a key to take.", completion: .file())
    var file: String?

    @Flag(name: .customLong("key-stdin"), help: "Read a key to take from standard input.")
    var stdin = false

    @Option(name: [.customLong("key"), .customLong("api-key")], help: .private)
    var argument: String?
}

/// An access token of a person.
struct AccessTokenOptions: SecretOptions {
    static let option = "access-token"

    @Option(name: .customLong("access-token-file"), help: "File that holds an access token.", completion: .file())
    var file: String?

    @Flag(name: .customLong("access-token-stdin"), help: "Read an access token from standard input.")
    var stdin = false

    @Option(name: [.customLong("access-token"), .customLong("token")], help: .private)
    var argument: String?
}
