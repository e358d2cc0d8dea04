import Accounts
import Description
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

extension Response {
    /// Returns the response to a client's write of a record: the user object, and a header with the ignored properties.
    static func written(_ written: WrittenUser) -> Response {
        .json(
            UserReply.write(written.user, projection: .everything(for: written.viewer)),
            headers: .ignored(written.ignored)
        )
    }
}

extension HTTPFields {
    /// The most bytes of names in the header: clients and proxies accept a few thousand bytes of all headers together.
    private static let mostIgnoredBytes = 1000

    /// Returns the header that names the ignored properties; no header when there are none.
    ///
    /// The value is a list of RFC 9651. If names do not fit, the last item is their number.
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

    /// Returns a name as a token (RFC 9651 §3.3.4) if possible, or else as a display string (RFC 9651 §3.3.8).
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

extension Reply {
    static let ownUser = success("The user.", as: "OwnUser", headers: [.ignoredProperties], .user)
}

extension ReplyHeader {
    fileprivate static let ignoredProperties = ReplyHeader(
        "Federation-Ignored-Properties",
        as: "IgnoredProperties",
        .string,
        """
        Properties that the record had and the user does not have: what is not open to clients, and what was dropped \
        since nobody has declared it. A list of RFC 9651, at its end the number of names that had no room; absent when \
        there are none.
        """,
        isRequired: false
    )
}
