/// The texts of all mails in all languages.
///
/// A template is three files: `passwordReset.en.subject`, `.txt` and `.html`. Those of a folder of the deployment go
/// before those that come with the service, file by file.
package struct MailTemplates: Sendable {
    /// Nothing fits into a mail that is larger.
    package static let maxFileBytes = 65_536

    /// Why a folder of templates cannot be used, a line each.
    package struct Problems: Error {
        package let texts: [String]
    }

    struct Texts: Sendable {
        let subject: TemplateText
        let text: TemplateText
        let html: TemplateText
    }

    private struct Key: Hashable {
        let template: Mail.Template
        let language: String
    }

    private let texts: [Key: Texts]

    /// The templates that come with the service.
    package static func shipped() throws(Problems) -> MailTemplates { try MailTemplates(files: [:]) }

    /// Takes the templates that come with the service and the files that go before them.
    ///
    /// - Parameter files: Their contents by name.
    /// - Throws: Every problem: a file that is no template, or has none of its parts beside it.
    package init(files: [String: String]) throws(Problems) {
        var problems: [String] = []
        var parts: [Key: [Part: TemplateText]] = [:]
        for (name, content) in ShippedTemplates.files.merging(files, uniquingKeysWith: { $1 }).sorted(by: {
            $0.key < $1.key
        }) {
            guard let (key, part) = Self.parse(name: name) else {
                problems.append(
                    "\(name): is no template; they are named like passwordReset.en.html, with a name of \(Self.names)"
                )
                continue
            }
            do throws(TemplateText.Problem) {
                parts[key, default: [:]][part] = try TemplateText(content, variables: key.template.variables)
            } catch {
                problems.append("\(name):\(error.line): \(error.text)")
            }
        }
        var texts: [Key: Texts] = [:]
        for (key, parts) in parts {
            if let subject = parts[.subject], let text = parts[.txt], let html = parts[.html] {
                texts[key] = Texts(subject: subject, text: text, html: html)
            } else if problems.isEmpty {
                let name = "\(key.template).\(key.language)"
                problems.append("\(name): needs \(name).subject, \(name).txt and \(name).html, and not all are there")
            }
        }
        guard problems.isEmpty else { throw Problems(texts: problems.sorted()) }
        self.texts = texts
    }

    /// Whether every mail can be written in a language.
    package func isComplete(in language: String) -> Bool {
        Mail.Template.allCases.allSatisfy { texts[Key(template: $0, language: language)] != nil }
    }

    /// The languages in which every mail can be written, in the order of their codes.
    package var languages: [String] { Set(texts.keys.map(\.language)).filter(isComplete).sorted() }

    /// The texts of a mail, in the first language that there is.
    ///
    /// - Parameters:
    ///   - template: Which mail.
    ///   - locale: What the reader speaks, such as `de`, `de-AT` or `de_AT`.
    ///   - language: One in which every mail can be written.
    /// - Returns: The texts and their language; nil when not even the last one has them.
    func texts(of template: Mail.Template, locale: String?, otherwise language: String) -> (Texts, language: String)? {
        for language in [locale.flatMap(Self.language), language].compactMap({ $0 }) {
            if let texts = texts[Key(template: template, language: language)] { return (texts, language) }
        }
        return nil
    }

    /// The language of a locale, in lower case; nil for what is none.
    package static func language(of locale: String) -> String? {
        let code = locale.utf8.prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        guard (2...3).contains(code.count) else { return nil }
        let lower = code.map { $0 | 0x20 }
        guard lower.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }) else { return nil }
        return String(decoding: lower, as: UTF8.self)
    }

    private enum Part: String { case subject, txt, html }

    private static let names = Mail.Template.allCases.map(\.rawValue).joined(separator: ", ")

    private static func parse(name: String) -> (Key, Part)? {
        let words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, let template = Mail.Template(rawValue: words[0]), let part = Part(rawValue: words[2]),
            language(of: words[1]) == words[1]
        else { return nil }
        return (Key(template: template, language: words[1]), part)
    }
}
