import Encodings
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

    /// Waits for a link of Firebase's form in a mail to an address, and returns its parameters.
    func actionLink(to address: String) async throws -> [String: String] {
        let query = try await eventually("a mail with a link to \(address)") {
            for mail in try take(to: address) {
                guard let start = mail.firstRange(of: "https://users.example.com/__/auth/action?") else { continue }
                return mail[start.upperBound...].prefix { !$0.isWhitespace }
            }
            return nil
        }
        let pairs = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(
            uniqueKeysWithValues: pairs.map { (String($0[0]), PercentEncoding.decode($0[1]) ?? "") }
        )
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
