import ArgumentParser
import Glibc

/// The three standard streams, each of which may be a terminal.
enum Terminal {
    /// Whether the command can ask questions: both standard input and standard error must be a terminal.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// The number of columns of the terminal at standard output; nil without a terminal, or if its width is unknown.
    static var columns: Int? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Writes a result to standard output.
    ///
    /// - Throws: An exit code when the write fails. A full disk behind `>` must not pass for a success.
    static func print(_ text: String) throws {
        guard write(text, to: STDOUT_FILENO) else {
            throw Exit.saying("federation: cannot write to standard output: \(Exit.systemError)", Exit.inputOutput)
        }
    }

    /// Prints a message to standard output that an action is done.
    static func report(_ text: String) throws {
        try print(TerminalText.escaped(text) + "\n")
    }

    /// Prints a secret that the service will not show again.
    ///
    /// The secret is alone on standard output, so a shell can write it to a file or a variable.
    static func printOnce(_ secret: String, _ name: String) throws {
        try print(TerminalText.escaped(secret) + "\n")
        say("\(name) Save it now: it is not shown again, and the service keeps no copy.")
    }

    /// Prints a message to standard error.
    static func say(_ text: String) {
        _ = write(TerminalText.escapedLines(text) + "\n", to: STDERR_FILENO)
    }

    /// Replaces the last line on standard error; the caller ensures that standard error is a terminal.
    static func overwrite(_ text: String) {
        _ = write("\r\u{1B}[K" + TerminalText.escaped(text), to: STDERR_FILENO)
    }

    /// Writes the whole text to a file descriptor; if that fails, returns false and sets `errno`.
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno != EINTR { return false }
            rest = rest.dropFirst(max(written, 0))
        }
        return true
    }

    // MARK: Questions

    /// Prints a question and reads a line; nil at the end of input.
    static func ask(_ question: String) -> String? {
        _ = write(TerminalText.escaped(question) + " ", to: STDERR_FILENO)
        return readLine()
    }

    /// Prints a question and reads a line that the terminal does not show; nil at the end of input.
    ///
    /// Meanwhile, the terminal passes on each key at once instead of a whole line. Its buffer for a line holds only
    /// 4095 bytes, and tokens may be longer.
    static func askHidden(_ question: String) -> String? {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0 else { return nil }
        _ = write(TerminalText.escaped(question) + " ", to: STDERR_FILENO)
        let typed = readKeys()
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
        _ = write("\n", to: STDERR_FILENO)
        switch typed {
        case .line(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .end: return nil
        case .interrupted:
            // The terminal is restored, and the process ends as an interrupted process does.
            kill(getpid(), SIGINT)
            return nil
        }
    }

    private enum Typed {
        case line([UInt8])
        case end
        case interrupted
    }

    private static func readKeys() -> Typed {
        var line: [UInt8] = []
        var key: UInt8 = 0
        while true {
            let count = read(STDIN_FILENO, &key, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return .end }
            switch key {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .line(line)
            case 0x03, 0x1C: return .interrupted
            case 0x04: return line.isEmpty ? .end : .line(line)
            case 0x08, 0x7F: _ = line.popLast()
            case 0x15: line = []
            default: if line.count < InputFile.maxBytes { line.append(key) }
            }
        }
    }
}
