import ArgumentParser
import Domain

/// Command-line options that name the source of a secret: a file, or standard input.
///
/// No option takes the secret itself. Every process on the machine can read a command's arguments, and the shell writes
/// them into its history. If an operator passes the secret as an argument, an error message explains this.
protocol SecretOptions: ParsableArguments {
    /// The base name of the options, such as `secret` for `--secret-file`.
    static var option: String { get }
    /// Whether the secret is a text that a human chose, such as a password, which may contain any characters.
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

    /// Whether an option names the source of the secret.
    var isGiven: Bool { file != nil || stdin }

    /// Whether the secret comes from standard input, which can be read only once.
    var takesStandardInput: Bool { stdin || file == "-" }

    /// Reads the secret from the source that the options name.
    ///
    /// - Parameter name: The name of the secret, for messages.
    /// - Returns: Nil when no option was given.
    /// - Throws: An exit code after printing the problem.
    func read(_ name: String) throws -> Secret? {
        if let file { return try Secret(line: try InputFile.bytes(file), of: name, isText: Self.isText) }
        guard stdin else { return nil }
        guard !Terminal.inputIsTerminal else { return try Secret(asking: name, isText: Self.isText) }
        return try Secret(line: try InputFile.bytes("-"), of: name, isText: Self.isText)
    }

    /// Reads the secret from the source that the options name; without such an option, asks for it at the terminal.
    func require(_ name: String) throws -> Secret {
        if let secret = try read(name) { return secret }
        guard Terminal.canAsk else {
            throw Exit.refusing("\(name) is required: give --\(Self.option)-file or --\(Self.option)-stdin.")
        }
        return try Secret(asking: name, isText: Self.isText)
    }
}

extension Secret {
    /// Asks for the secret at the terminal, which does not show what the operator types.
    init(asking name: String, isText: Bool = false) throws {
        let line = Array((Terminal.askHidden("\(name) (is not shown):") ?? "").utf8)
        try self.init(line: line, of: name, isText: isText)
    }

    /// Returns the error message for an operator who passed a secret as a command-line argument.
    static func refusal(ofArgument argument: String, use others: String) -> String {
        """
        \(argument) is refused: all users of this machine can read arguments, and the shell keeps them in its history. \
        Use \(others). If the secret is in use, replace it.
        """
    }

    /// Reads a secret from one line, without its line break; or a key in PEM, which has several lines.
    ///
    /// - Throws: An exit code after printing the problem.
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
        let pem = /-----BEGIN [A-Z ]+-----\r?\n[^-]+-----END [A-Z ]+-----/
        let isPEM = String(decoding: line, as: UTF8.self).wholeMatch(of: pem) != nil
        guard line.allSatisfy({ (0x21..<0x7F).contains($0) || isPEM && [0x20, 0x0A, 0x0D].contains($0) }) else {
            throw Exit.saying(
                "federation: \(name) must be one line of visible ASCII characters without spaces",
                Exit.dataError
            )
        }
        self.init(String(decoding: line, as: UTF8.self))
    }
}

/// The command-line options that pass a user's access token.
struct AccessTokenOptions: SecretOptions {
    static let option = "access-token"

    @Option(name: .customLong("access-token-file"), help: "File with an access token.", completion: .file())
    var file: String?

    @Flag(name: .customLong("access-token-stdin"), help: "Read an access token from standard input.")
    var stdin = false

    @Option(name: [.customLong("access-token"), .customLong("token")], help: .private)
    var argument: String?
}
