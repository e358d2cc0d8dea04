package import Curl
import Domain

/// The declaration of a configuration variable: its name, default and rules.
///
/// The configuration reader uses the declaration. The tables in the documentation are made from it.
package struct Variable<Value: Sendable>: DeclaredVariable {
    package let key: String
    package let isSecret: Bool
    /// The default value of the configuration variable.
    package let standard: Value
    package let standardText: String?
    package let unit: String
    package let meaning: String
    /// Parses the text of the configuration variable.
    package let parse: @Sendable (String) throws(WrongValue) -> Value

    /// Declares a variable.
    ///
    /// - Parameters:
    ///   - key: The key in the configuration file.
    ///   - unit: The unit or the kind of the value, in a word.
    ///   - standard: The default value.
    ///   - text: The default value as text; nil for none.
    ///   - isSecret: Whether the value is a secret, which no log or message may contain.
    ///   - meaning: The purpose of the variable, in Markdown.
    ///   - parse: Parses the text of the variable.
    package init(
        _ key: String,
        _ unit: String,
        standard: Value,
        text: String?,
        isSecret: Bool = false,
        _ meaning: String,
        parse: @escaping @Sendable (String) throws(WrongValue) -> Value
    ) {
        (self.key, self.unit, self.standard, standardText) = (key, unit, standard, text)
        (self.isSecret, self.meaning, self.parse) = (isSecret, meaning, parse)
    }

    /// Declares a variable without a default.
    package init<Wrapped>(
        _ key: String,
        _ unit: String,
        isSecret: Bool = false,
        _ meaning: String,
        parse: @escaping @Sendable (String) throws(WrongValue) -> Value
    ) where Value == Wrapped? {
        self.init(key, unit, standard: nil, text: nil, isSecret: isSecret, meaning, parse: parse)
    }
}

/// The declaration of a configuration variable, without the type of its value.
package protocol DeclaredVariable: Sendable {
    /// The variable's name in the configuration file, below `federation`, such as `password.queue`.
    var key: String { get }
    /// Whether the value is a secret, which no log or message may contain.
    var isSecret: Bool { get }
    /// The default as text; nil for none.
    var standardText: String? { get }
    /// The unit or the kind of the value, in a word.
    var unit: String { get }
    /// The purpose of the variable, in the Markdown of docs/configuration.md.
    var meaning: String { get }
}

extension DeclaredVariable {
    /// The name of the environment variable.
    ///
    /// For `password.queue`, it is `FEDERATION_PASSWORD_QUEUE`.
    package var name: String {
        ServiceVariable.prefix + key.split(separator: ".").joined(separator: "_").uppercased()
    }
}

/// The error that a variable has an invalid value, with a text such as "must be a whole number".
///
/// In a message, the text follows the variable's name. It never contains the value, which may be secret.
package struct WrongValue: Error {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}

// MARK: Forms

extension Variable<Int> {
    /// Declares a variable whose value is a whole number.
    ///
    /// The closure `meaning` receives the bounds as a text, and returns a description of the variable that contains
    /// this text.
    package static func integer(
        _ key: String,
        in range: ClosedRange<Int>,
        _ unit: String,
        standard: Int,
        _ meaning: (_ bounds: String) -> String
    ) -> Variable {
        let (least, max) = (range.lowerBound, range.upperBound)
        let bounds = "\(grouped(least)) to \(grouped(max))"
        return Variable(key, unit, standard: standard, text: String(standard), meaning(bounds)) {
            text throws(WrongValue) in
            guard let number = Int(text), range.contains(number) else {
                throw WrongValue("must be a whole number from \(least) to \(max)")
            }
            return number
        }
    }

    /// Returns a number as text, with spaces between the thousands if it has five digits or more.
    private static func grouped(_ number: Int) -> String {
        let digits = String(number)
        guard digits.utf8.count > 4 else { return digits }
        return digits.enumerated().map { index, digit in
            index > 0 && (digits.utf8.count - index).isMultiple(of: 3) ? " \(digit)" : "\(digit)"
        }.joined()
    }
}

extension Variable<Duration> {
    /// Declares a variable whose value is a duration in whole milliseconds.
    package static func milliseconds(_ key: String, standard: Int, _ meaning: String) -> Variable {
        let number = Variable<Int>.integer(key + ".milliseconds", in: 1...3_600_000, "ms", standard: standard) { _ in
            meaning
        }
        return Variable(
            number.key,
            number.unit,
            standard: .milliseconds(standard),
            text: number.standardText,
            meaning
        ) { text throws(WrongValue) in .milliseconds(try number.parse(text)) }
    }
}

extension Variable<String> {
    /// Declares a variable whose value is the URL of a server that the service calls, or to which it sends a browser.
    package static func url(_ key: String, standard: String, _ meaning: String) -> Variable {
        Variable(key, "URL", standard: standard, text: standard, meaning) { text throws(WrongValue) in
            _ = try HTTPURL(ofVariable: text)
            return text
        }
    }
}

extension HTTPURL {
    /// Parses the URL of a server that the service calls.
    package init(ofVariable text: String) throws(WrongValue) {
        do { try self.init(text) } catch {
            throw WrongValue("must be an https URL, or an http URL of a loopback address: \(error)")
        }
    }
}
