import Glibc

/// Records a measured result for a row of the table of tested faults in `docs/reliability.md`.
///
/// The function appends the result to the file that the environment variable `FEDERATION_RELIABILITY_FILE` names.
/// Without this variable, it does nothing. Later, `scripts/reliability-page` writes the results into the table.
///
/// - Parameters:
///   - row: The row's name, such as `F-26`.
///   - figure: The result in words, on one line.
package func noteMeasured(_ row: String, _ figure: String) {
    guard let path = getenv("FEDERATION_RELIABILITY_FILE") else { return }
    // Several processes and scripts append to the file, so each line is a single write.
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return }
    let line = Array("\(row)\t\(figure)\n".utf8)
    _ = write(descriptor, line, line.count)
    close(descriptor)
}

extension Duration {
    /// The duration as text: in seconds with two decimals or, below one second, in whole milliseconds.
    package var figure: String {
        let milliseconds = Int(self / .milliseconds(1))
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let hundredths = milliseconds / 10 % 100
        return "\(milliseconds / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) s"
    }
}
