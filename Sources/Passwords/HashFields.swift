import Domain
import Encodings

/// The fields of a hash in its text form, between dollar signs.
///
/// Parsing is strict: a number can be written in one way only, and unknown or repeated parameters are refused.
struct HashFields {
    /// The maximum size, in bytes, of the text form of a hash.
    static let longestText = 1024

    private let fields: [Substring]

    /// Splits a hash into its fields.
    ///
    /// - Throws: `unknownForm` for a text that is too long, or is not printable ASCII.
    init(_ text: Secret) throws(ForeignHashProblem) {
        guard (1...Self.longestText).contains(text.byteCount),
            text.reveal().utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .unknownForm }
        fields = text.reveal().split(separator: "$", omittingEmptySubsequences: false)
    }

    /// The name of the scheme, with the dollar sign in front if the text begins with one.
    var scheme: String {
        fields[0].isEmpty && fields.count > 1 ? "$" + fields[1] : String(fields[0])
    }

    /// The fields that follow the name of the scheme.
    var rest: [Substring] { Array(fields.dropFirst(fields[0].isEmpty ? 2 : 1)) }

    /// Returns the fields that follow the name of the scheme.
    ///
    /// - Throws: `malformed` if there are more or fewer fields than `count`.
    func rest(_ count: Int) throws(ForeignHashProblem) -> [Substring] {
        guard rest.count == count else { throw .malformed("it has another number of fields than \(scheme) has") }
        return rest
    }

    // MARK: One field

    /// Parses a decimal number without a sign or leading zeros.
    static func number(_ text: Substring) throws(ForeignHashProblem) -> Int {
        guard text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text), String(number) == text else {
            throw .malformed("a number of it is none")
        }
        return number
    }

    /// Parses parameters such as `m=65536,t=2,p=1`; refuses an unknown parameter, and one that occurs twice.
    static func parameters(_ text: Substring, _ names: [String]) throws(ForeignHashProblem) -> [String: Substring] {
        var values: [String: Substring] = [:]
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let sign = pair.firstIndex(of: "=") else { throw .malformed("a parameter of it has no value") }
            let name = String(pair[..<sign])
            guard names.contains(name), values[name] == nil else {
                throw .malformed("a parameter of it is unknown, or there twice")
            }
            values[name] = pair[pair.index(after: sign)...]
        }
        return values
    }

    /// Decodes base64, with or without padding; `.` may stand for `+`, as passlib writes it.
    static func bytes(_ text: Substring) throws(ForeignHashProblem) -> [UInt8] {
        guard let bytes = Base64.decode(text.utf8) else { throw .malformed("a field of it is not base64") }
        return bytes
    }
}

extension [String: Substring] {
    /// Returns the value of a parameter as a number.
    ///
    /// - Throws: `malformed` if the value is absent or no number; `costly` if the number is outside the range.
    func number(_ name: String, in range: ClosedRange<Int>) throws(ForeignHashProblem) -> Int {
        guard let text = self[name] else { throw .malformed("it lacks the parameter \(name)") }
        let number = try HashFields.number(text)
        guard range.contains(number) else {
            throw .costly("its parameter \(name) is outside \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// The encoding base64 (RFC 4648 §4).
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        String(
            decoding: Base64URL.encode(bytes).utf8.map { character in
                switch character {
                case UInt8(ascii: "-"): UInt8(ascii: "+")
                case UInt8(ascii: "_"): UInt8(ascii: "/")
                default: character
                }
            },
            as: UTF8.self
        )
    }

    /// Decodes base64; nil for another character, and for padding that does not complete the last four characters.
    static func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || padding <= 2 && text.count.isMultiple(of: 4) else { return nil }
        var characters: [UInt8] = []
        for character in text.dropLast(padding) {
            switch character {
            case UInt8(ascii: "+"), UInt8(ascii: "."): characters.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): characters.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: characters.append(character)
            }
        }
        return Base64URL.decode(characters)
    }
}
