import Encodings

/// An e-mail address that every parser reads alike: ASCII, `local@domain`, no quoting, no comment, no list.
///
/// Addresses that differ only in upper and lower case are the same login name. Letters beyond ASCII are refused:
/// programs convert them to lower case in different ways, and some ways make two addresses into one (T-38).
package struct EmailAddress: Sendable, CustomStringConvertible {
    /// The address as it was written; mail goes here.
    package let text: String
    /// The normalized address by which addresses are compared, at most 254 bytes.
    package let login: String

    /// Creates an address; nil when the text does not follow the rule.
    ///
    /// The rule: at most 254 bytes; before the `@` at most 64 letters, digits and ``!#$%&'*+/=?^_`{|}~-``, with single
    /// dots between them; after the `@` a host name of at least two labels.
    package init?(_ text: some StringProtocol) {
        guard (3...254).contains(text.utf8.count) else { return nil }
        let text = String(text)
        let halves = text.utf8.split(separator: UInt8(ascii: "@"), maxSplits: 2, omittingEmptySubsequences: false)
        guard halves.count == 2, (1...64).contains(halves[0].count) else { return nil }
        let atoms = halves[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard atoms.allSatisfy({ atom in !atom.isEmpty && atom.allSatisfy(Self.isAtomCharacter) }) else { return nil }
        let labels = halves[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy(Self.isLabel), labels.last?.contains(where: \.isASCIILetter) == true
        else { return nil }
        self.text = text
        login = text.lowercased()
    }

    /// A key that is the same for all addresses of one mailbox, under the rules of many mail servers.
    ///
    /// The key omits the part from a `+` to the `@`, which is a note of the mailbox's owner (RFC 5233). For Gmail, the
    /// key also omits the dots before the `@`.
    ///
    /// Rate limits count mails by this key. When a user opens a mailed link, a code by mail counts as a second factor
    /// only if its address has another key than the address of the link.
    ///
    /// Not every server follows these rules. So users are identified by the whole address, and no notice is left out
    /// because two addresses share the key.
    package var mailbox: String {
        let halves = login.split(separator: "@")
        guard halves.count == 2, let name = halves[0].split(separator: "+", omittingEmptySubsequences: false).first,
            !name.isEmpty
        else { return login }
        guard ["gmail.com", "googlemail.com"].contains(halves[1]) else { return "\(name)@\(halves[1])" }
        return name.filter { $0 != "." } + "@gmail.com"
    }

    /// A placeholder, since the address is personal; code that needs the address uses `text`.
    package var description: String { "•••" }

    private static func isAtomCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte.isOne(of: "!#$%&'*+/=?^_`{|}~-")
    }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        (1...63).contains(label.count) && label.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
    }
}
