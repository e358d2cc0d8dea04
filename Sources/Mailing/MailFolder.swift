import FoundationEssentials

/// A folder in which mails end up instead of being sent: what they say is there for whoever can read it.
package struct MailFolder: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Writes a mail as a file of its own, whole or not at all; the names are in the order of time.
    func keep(_ mail: ComposedMail) -> MailOutcome {
        let milliseconds = String(Int64(Date().timeIntervalSince1970 * 1000))
        let name = "\(milliseconds)-\(UUID().uuidString.prefix(8)).eml"
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try Data(mail.message.utf8).write(to: URL(filePath: path).appending(path: name), options: .atomic)
        } catch {
            return .postponed(problem: "the folder of mails cannot be written to", answer: nil)
        }
        return .accepted(answer: "written to \(name)")
    }
}
