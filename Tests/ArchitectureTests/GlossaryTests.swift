import FoundationEssentials
import Testing

@Suite("The words of docs/glossary.md")
struct GlossaryTests {
    @Test("Code, documents and texts have none of the words that the glossary forbids")
    func words() throws {
        let glossary = try Glossary(of: Document(path: "docs/glossary.md"))
        #expect(glossary.forbidden.count > 10)
        for text in try Self.texts {
            for (line, word) in glossary.findings(in: text.text)
            where !Self.exemptions.contains(where: { text.path.hasSuffix($0.file) && $0.word == word }) {
                Issue.record("\(text.path):\(line): docs/glossary.md has another word for \"\(word)\"")
            }
        }
    }

    @Test(
        "A forbidden word is found in each form, inside names, and over a hyphen",
        arguments: [
            ("a sealed secret", ["seal"]), ("func sealAll()", ["seal"]), ("Reseals it", ["reseal"]), ("SEAL", ["seal"]),
            ("a sign-in page", ["sign-in"]), ("a sign in front of it", []), ("half\nlogin", []),
            ("the half login", ["half login"]), ("a seal, and\npatience", ["seal", "patience"]),
            ("sealant and impatience", []), ("", []),
        ]
    )
    func forms(text: String, words: [String]) throws {
        let page = """
            | Term | Meaning | Not |
            |---|---|---|
            | encrypt | x | **seal**, **reseal**, wrap |
            | timeout | **x** | **patience** |
            | login | x | **sign-in**, **half login** |
            """
        let findings = Glossary(of: Document(path: "page.md", text: page)).findings(in: text)
        #expect(findings.map(\.word) == words)
    }

    /// Names that are not ours to choose.
    private static let exemptions: [(file: String, word: String)] = [
        // A method of CryptoKit's.
        ("Secrets/EncryptionKey.swift", "seal"),
        // Members and columns of stored data, and a setting's former name.
        ("Domain/SecondFactorPolicy.swift", "vouch"),
        ("Applications/StoredSecretOption.swift", "seal"), ("Store/Deletion/Erasure.swift", "hindrance"),
        ("Store/Maintenance/DueWork.swift", "hindrance"), ("docs/operations/install.md", "hindrance"),
        // Pictures of pages.
        ("docs/console/README.md", "sign-in"),
    ]

    /// All Swift sources, documents, scripts of the console, and texts of pages and mails.
    private static var texts: [(path: String, text: String)] {
        get throws {
            let others = try FileManager.default.subpathsOfDirectory(atPath: Repository.root.appending(path: ".").path)
                .filter { path in
                    path.hasSuffix(".md") && ["README.md", "docs/", "mappings/"].contains(where: path.hasPrefix)
                        || path.hasPrefix("Sources/Console/Assets/") && path.hasSuffix(".js")
                        || (path.hasPrefix("Sources/Messaging/") || path.hasPrefix("Sources/Pages/Assets/"))
                            && [".txt", ".html", ".subject"].contains(where: path.hasSuffix)
                }
                .filter { $0 != "docs/glossary.md" }
            return try Repository.sources.map { ($0.path, $0.text) }
                + others.map { path in
                    (path, try String(contentsOfFile: Repository.root.appending(path: path).path, encoding: .utf8))
                }
        }
    }
}

/// The words in bold in the last column of the glossary's tables.
private struct Glossary {
    /// The forbidden words in lower case, by each of their forms.
    let forbidden: [String: String]

    init(of page: Document) {
        var forbidden: [String: String] = [:]
        for line in page.text.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5 else { continue }
            for (index, part) in cells[3].split(separator: "**", omittingEmptySubsequences: false)
                .enumerated() where !index.isMultiple(of: 2)
            {
                for ending in ["", "s", "es", "ed", "ing"] { forbidden[part + ending] = String(part) }
            }
        }
        self.forbidden = forbidden
    }

    /// Returns the forbidden words of a text, each with its line.
    func findings(in text: String) -> [(line: Int, word: String)] {
        var findings: [(line: Int, word: String)] = []
        var (line, word, former) = (1, "", "")
        var isBehindSmallLetter = false
        func end(by separator: UInt8?) {
            if let found = forbidden[word] ?? forbidden[former + word] { findings.append((line, found)) }
            let joins = separator == UInt8(ascii: " ") || separator == UInt8(ascii: "-")
            former = joins && !word.isEmpty ? word + String(UnicodeScalar(separator ?? 0)) : ""
            word = ""
        }
        for byte in text.utf8 {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            if isCapital && isBehindSmallLetter { end(by: nil) }
            if isCapital || isSmall {
                word.unicodeScalars.append(UnicodeScalar(isCapital ? byte | 0x20 : byte))
            } else if !word.isEmpty || !former.isEmpty {
                end(by: byte)
            }
            if byte == UInt8(ascii: "\n") { line += 1 }
            isBehindSmallLetter = isSmall
        }
        end(by: nil)
        return findings
    }
}
