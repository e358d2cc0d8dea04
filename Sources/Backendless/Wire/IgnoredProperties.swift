import Accounts
import Description
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

extension Response {
    /// Returns the response to a request that has written a user: the user object, and a header with the ignored
    /// properties.
    static func written(_ written: WrittenUser) -> Response {
        .json(
            UserReply.write(written.user, projection: .everything(for: written.viewer)),
            headers: .ignored(written.ignored)
        )
    }
}

extension HTTPFields {
    /// The maximum number of bytes for the names in the header.
    ///
    /// Clients and proxies accept a few thousand bytes for all headers together.
    private static let maxIgnoredBytes = 1000

    /// Returns the header that names the properties which the service ignored in a request; no header if there are
    /// none.
    ///
    /// The value is a list of RFC 9651. If some names do not fit, the last item is the number of names that are left
    /// out.
    static func ignored(_ names: [String]) -> HTTPFields {
        guard !names.isEmpty else { return [:] }
        var items: [String] = []
        var bytes = 0
        for item in names.lazy.map(item(of:)) {
            bytes += item.utf8.count + 2
            guard bytes <= maxIgnoredBytes else { break }
            items.append(item)
        }
        if items.count < names.count { items.append(String(names.count - items.count)) }
        return [.ignoredProperties: items.joined(separator: ", ")]
    }

    /// Returns a name as a token (RFC 9651 §3.3.4) if it can be one, or else as a display string (RFC 9651 §3.3.8).
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
        Properties of the record that were not written: those that clients cannot write, and dropped undeclared ones. \
        A list of RFC 9651, which ends with the number of names that did not fit. Absent if there are none.
        """,
        isRequired: false
    )
}
