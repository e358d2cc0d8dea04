import ArgumentParser

import Glibc

extension GraphSimulatorCommand {
    /// Says on standard error why the command ends, and makes the error that ends it with that code.
    func failure(_ code: Int32, _ message: String) -> ExitCode {
        let line = Array("graph-simulator: \(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        return ExitCode(code)
    }
}
