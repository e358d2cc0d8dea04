import ArgumentParser

import Glibc

extension GraphSimulatorCommand {
    /// Writes the reason to standard error and returns the error that ends the command with that exit code.
    func failure(_ code: Int32, _ message: String) -> ExitCode {
        let line = Array("graph-simulator: \(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        return ExitCode(code)
    }
}
