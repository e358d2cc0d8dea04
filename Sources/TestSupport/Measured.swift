import Glibc

/// Records a measured figure for a row of the table of tested faults in `docs/reliability.md`.
///
/// `scripts/reliability-page` writes the figure into the table. This function does nothing unless
/// `FEDERATION_RELIABILITY_FILE` names the file that `scripts/test` has begun.
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
    /// The duration for readers: seconds with two decimals; below one second, whole milliseconds.
    package var figure: String {
        let milliseconds = Int(self / .milliseconds(1))
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let hundredths = milliseconds / 10 % 100
        return "\(milliseconds / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) s"
    }
}
