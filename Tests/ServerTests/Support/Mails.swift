import FoundationEssentials
import TestSupport
import Testing

/// The folder into which a service of tests puts its mails.
struct MailsFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/federation-test-mails-\(UUID())"

    /// What a service needs so that its mails end up here.
    var environment: [String: String] {
        [
            "FEDERATION_MODE": "development", "FEDERATION_MAIL_FOLDER": path,
            "FEDERATION_PUBLIC_URL": "https://users.example.com",
        ]
    }

    /// Takes the next mail to an address out of the folder; waits for it.
    func next(to address: String) async throws -> String {
        try await eventually("a mail to \(address)") { try take(to: address).first }
    }

    /// Takes all mails to an address that are there.
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

    /// The token of the next link to a page that is mailed to an address; takes the mails before it out as well.
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
