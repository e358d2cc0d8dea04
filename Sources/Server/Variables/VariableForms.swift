import Domain
import FoundationEssentials
import HTTP
import Providers
import Secrets

// The forms of the service's variables, beside those of the provider kinds.

extension Variable<String?> {
    /// Declares a configuration variable whose text is the value, such as a path or a name.
    static func text(_ key: String, _ unit: String, _ meaning: String) -> Variable {
        Variable(key, unit, meaning) { $0 }
    }
}

extension Variable<Bool> {
    static func flag(_ key: String, standard: Bool, _ meaning: String) -> Variable {
        Variable(key, "word", standard: standard, text: String(standard), meaning) { text throws(WrongValue) in
            guard let flag = Bool(text) else { throw WrongValue("must be true or false") }
            return flag
        }
    }
}

extension Variable where Value: RawRepresentable<String> & CaseIterable {
    /// Declares a configuration variable whose value is a case of an enumeration, written as its raw value.
    static func word(_ key: String, standard: Value, _ meaning: String) -> Variable {
        Variable(key, "word", standard: standard, text: standard.rawValue, meaning) { text throws(WrongValue) in
            guard let word = Value(rawValue: text) else { throw WrongValue("must be \(words { $0 })") }
            return word
        }
    }

    /// The words that the variable accepts, as Markdown for its description.
    static var words: String { words { "`\($0)`" } }

    private static func words(_ form: (String) -> String) -> String {
        let words = Value.allCases.map { form($0.rawValue) }
        return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }
}

extension Variable<ListenAddress> {
    /// Declares a configuration variable whose value is the address of a listener.
    static func address(_ key: String, standard: ListenAddress, _ meaning: String) -> Variable {
        Variable(key, "host:port", standard: standard, text: "\(standard)", meaning) { text throws(WrongValue) in
            guard let address = ListenAddress(text) else {
                throw WrongValue("must look like \(standard), or like unix:/run/federation.sock with a short path")
            }
            return address
        }
    }
}

extension Variable<TrustedPeers?> {
    /// Declares a configuration variable whose value is a list of proxies; nil if the variable is not set.
    ///
    /// These proxies may report the source of a connection.
    static func peers(_ key: String, _ meaning: String) -> Variable {
        Variable(key, "list", meaning) { text throws(WrongValue) in
            guard let peers = TrustedPeers(text) else {
                throw WrongValue(
                    "must be addresses, networks or unix, separated by commas, like 10.0.0.0/8, ::1, unix"
                )
            }
            return peers
        }
    }
}

extension Variable<MasterKey?> {
    static func masterKey(_ key: String, _ meaning: String) -> Variable {
        Variable(key, "base64", isSecret: true, meaning, parse: decoded)
    }

    /// Declares a configuration variable whose value is the path of a file that contains a master key.
    static func masterKeyFile(_ key: String, _ meaning: String) -> Variable {
        Variable(key, "path", meaning) { path throws(WrongValue) in
            guard let data = try? Data(contentsOf: URL(filePath: path)) else {
                throw WrongValue("names a file that cannot be read: \(path)")
            }
            return try decoded(String(decoding: data, as: UTF8.self))
        }
    }

    @Sendable
    private static func decoded(_ text: String) throws(WrongValue) -> MasterKey? {
        do { return try MasterKey(base64: Secret(text)) } catch { throw WrongValue("\(error)") }
    }
}
