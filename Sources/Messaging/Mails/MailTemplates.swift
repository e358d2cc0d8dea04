/// The texts of all mails in all languages.
///
/// A template consists of three files: `passwordReset.en.subject`, `.txt` and `.html`. A file in the deployment's
/// folder replaces the shipped file of the same name.
package struct MailTemplates: Sendable {
    /// The maximum size of a template file, in bytes.
    ///
    /// A larger text does not fit into a mail.
    package static let maxFileBytes = 65_536

    /// An error: the files of mail templates contain problems, which are described by one line of text each.
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

    /// Returns the shipped templates.
    package static func shipped() throws(Problems) -> MailTemplates { try MailTemplates(files: [:]) }

    /// Reads the shipped templates, but takes each file in `files` in place of the shipped file of the same name.
    ///
    /// - Parameter files: The contents of the files. The keys are the file names.
    /// - Throws: ``Problems`` with all files that belong to no template and all errors in the texts. If there are none,
    ///   it contains the templates without one of their three files.
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

    /// Returns whether all mails have templates in a language.
    package func isComplete(in language: String) -> Bool { missing(in: language).isEmpty }

    /// Returns the names of the templates that a language lacks.
    package func missing(in language: String) -> [String] {
        Mail.Template.allCases.filter { texts[Key(template: $0, language: language)] == nil }.map(\.rawValue)
    }

    /// The languages in which all mails have templates, in the order of their codes.
    package var languages: [String] { Set(texts.keys.map(\.language)).filter(isComplete).sorted() }

    /// Returns the texts of a template in the reader's language or, if it has none in this language, in the fallback
    /// language.
    ///
    /// - Parameters:
    ///   - template: The template of the mail.
    ///   - locale: The locale of the reader, such as `de`, `de-AT` or `de_AT`.
    ///   - language: The fallback, a language with templates for all mails.
    /// - Returns: The texts and their language; nil if even the fallback has no texts.
    func texts(of template: Mail.Template, locale: String?, otherwise language: String) -> (Texts, language: String)? {
        for language in [locale.flatMap(Self.language), language].compactMap({ $0 }) {
            if let texts = texts[Key(template: template, language: language)] { return (texts, language) }
        }
        return nil
    }

    /// Returns the language of a locale in lower case; nil for an invalid locale.
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
