import FoundationEssentials
import Testing
import TestSupport

/// The folder into which a test's service writes its mails.
struct MailsFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/federation-test-mails-\(UUID())"

    /// The variables that make a service write its mails to this folder.
    var environment: [String: String] {
        [
            "FEDERATION_MODE": "development", "FEDERATION_MAIL_FOLDER": path,
            "FEDERATION_PUBLIC_URL": "https://users.example.com",
        ]
    }

    /// Waits for the next mail to an address and removes it from the folder.
    func next(to address: String) async throws -> String {
        try await eventually("a mail to \(address)") { try take(to: address).first }
    }

    /// Removes and returns all present mails to an address.
    func take(to address: String) throws -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return [] }
        var mails: [String] = []
        for name in names.sorted() where name.hasSuffix(".eml") {
            let file = "\(path)/\(name)"
            let mail = try String(contentsOfFile: file, encoding: .utf8)
            guard mail.contains("To: <\(address)>") || mail.contains("To: \(address)") else { continue }
            try FileManager.default.removeItem(atPath: file)
            mails.append(mail)
        }
        return mails
    }

    /// Waits for a mail with a link to a page and returns the link's token; earlier mails are removed, too.
    func token(to address: String, page: String, of application: String = "demo") async throws -> String {
        let start = "https://users.example.com/\(application)/\(page)?token="
        return try await eventually("a link to \(page) for \(address)") {
            for mail in try take(to: address) {
                if let link = mail.firstRange(of: start) { return String(mail[link.upperBound...].prefix(43)) }
            }
            return nil
        }
    }
}
