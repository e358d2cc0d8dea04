import ArgumentParser

import Glibc

extension GraphSimulatorCommand {
    /// Writes a message to standard error, and returns the error that ends the command with the given exit code.
    func failure(_ code: Int32, _ message: String) -> ExitCode {
        let line = Array("graph-simulator: \(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        return ExitCode(code)
    }
}
