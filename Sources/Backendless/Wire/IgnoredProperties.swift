import Accounts
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

extension Response {
    /// The reply to a record that a client has written: the user object, and in a header what was not taken of it.
    static func written(_ written: WrittenUser) -> Response {
        .json(
            UserReply.write(written.user, projection: .everything(for: written.viewer)),
            headers: .ignored(written.ignored)
        )
    }
}

extension HTTPFields {
    /// Bytes of names that the header holds: clients and proxies take a few thousand of all headers together.
    private static let mostIgnoredBytes = 1000

    /// The header that names properties of which nothing became; none when there are none.
    ///
    /// A list of RFC 9651, with the number of those that have no room at its end.
    static func ignored(_ names: [String]) -> HTTPFields {
        guard !names.isEmpty else { return [:] }
        var items: [String] = []
        var bytes = 0
        for item in names.lazy.map(item(of:)) {
            bytes += item.utf8.count + 2
            guard bytes <= mostIgnoredBytes else { break }
            items.append(item)
        }
        if items.count < names.count { items.append(String(names.count - items.count)) }
        return [.ignoredProperties: items.joined(separator: ", ")]
    }

    /// A name as a token (RFC 9651 §3.3.4), or, where it is none, as a display string (RFC 9651 §3.3.8).
    private static func item(of name: String) -> String {
        if name.utf8.first?.isASCIILetter == true,
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "_-.") })
        {
            return name
        }
        let text = name.utf8.map { byte in
            (0x20...0x7E).contains(byte) && !byte.isOne(of: "%\"")
                ? String(UnicodeScalar(byte)) : "%" + Hexadecimal.encode([byte])
        }
        return "%\"" + text.joined() + "\""
    }
}
