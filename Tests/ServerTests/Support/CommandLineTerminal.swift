import Glibc
import NIOConcurrencyHelpers
import Testing
import TestSupport

/// A pseudoterminal with a program on it: the test types and reads the screen.
final class CommandLineTerminal: Sendable {
    let process: ManagedProcess
    private let keyboard: Int32
    /// The terminal, held open so that its settings can be read after the program's end.
    private let line: Int32
    private let shown = NIOLockedValueBox<[UInt8]>([])

    /// Starts `federation` with all three standard streams on a terminal of that many columns.
    static func start(_ words: String, columns: Int = 200, as user: CommandLineOperator) async throws
        -> CommandLineTerminal
    {
        let keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        var (number, unlocked) = (CInt(-1), CInt(0))
        try #require(
            keyboard >= 0 && ioctl(keyboard, setLock, &unlocked) == 0 && ioctl(keyboard, getNumber, &number) == 0
        )
        let path = "/dev/pts/\(number)"
        let line = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        var size = winsize(ws_row: 24, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        try #require(line >= 0 && ioctl(line, UInt(TIOCSWINSZ), &size) == 0)
        let arguments = words.split(separator: " ").map(String.init)
        let process = try await ManagedProcess.start(
            "bash",
            ["-c", #"exec "$@" <"$LINE" >"$LINE" 2>&1"#, "bash", try PackageLayout.executable("federation")]
                + arguments,
            environment: user.environment.merging(["LINE": path]) { _, new in new }
        )
        return CommandLineTerminal(process: process, keyboard: keyboard, line: line)
    }

    /// TIOCSPTLCK and TIOCGPTN of ioctl_tty(2), which Swift does not import.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    private init(process: ManagedProcess, keyboard: Int32, line: Int32) {
        self.process = process
        self.keyboard = keyboard
        self.line = line
    }

    deinit {
        close(keyboard)
        close(line)
    }

    /// The complete output to the screen so far.
    var screen: String {
        shown.withLockedValue { shown in
            var chunk = [UInt8](repeating: 0, count: 4096)
            while case let count = read(keyboard, &chunk, chunk.count), count > 0 { shown += chunk.prefix(count) }
            return String(decoding: shown, as: UTF8.self)
        }
    }

    func waitFor(_ text: String) async throws {
        try await eventually("\(text) is on the screen", every: .milliseconds(10)) {
            screen.contains(text)
        }
    }

    /// Types a text, with `\n` for the Enter key.
    func type(_ text: String) {
        let keys = Array(text.utf8)
        #expect(write(keyboard, keys, keys.count) == keys.count)
    }

    /// Whether typed text appears on the screen.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(line, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits for the program's end.
    ///
    /// - Returns: The complete output to the screen.
    func end(with status: ProcessEnd, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let ended = try await process.waitForExit()
        let screen = screen
        #expect(ended == status, "\(screen)", sourceLocation: sourceLocation)
        return screen
    }
}
