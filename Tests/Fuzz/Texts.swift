import Domain
import Encodings

extension FuzzTarget {
    /// The target of forms.
    ///
    /// An accepted form has no NUL and no more fields than allowed; encoded again it is the same form.
    static let form = FuzzTarget("form") { input in
        guard let form = try? FormFields(String(decoding: input, as: UTF8.self)) else { return false }
        try promise("at most 64 fields", form.all.count <= 64)
        try promise("no NUL", form.all.allSatisfy { !$0.name.utf8.contains(0) && !$0.value.utf8.contains(0) })
        let pairs = form.all.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }
        let again = try? FormFields(pairs.joined(separator: "&"))
        try promise(
            "what is encoded is read as the same",
            again?.all.elementsEqual(form.all) {
                $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
            } == true
        )
        return true
    }

    /// The target of e-mail addresses.
    ///
    /// An accepted address is one and the same address for every mail program. Nothing in it ends a line of a mail,
    /// opens a comment or a list, or becomes another letter by case folding.
    static let email = FuzzTarget("email") { input in
        guard let address = EmailAddress(String(decoding: input, as: UTF8.self)) else { return false }
        let (text, login) = (Array(address.text.utf8), Array(address.login.utf8))
        try promise("it stays as it was written", text == input)
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
        let known = Set(letters + Array(".!#$%&'*+/=?^_`{|}~-@".utf8))
        try promise("it has known characters alone", text.allSatisfy(known.contains))
        try promise("it has one @, and at most 254 bytes", text.count { $0 == 0x40 } == 1 && text.count <= 254)
        let host = text.drop { $0 != 0x40 }.dropFirst()
        try promise("behind it is a host name", host.allSatisfy { letters.contains($0) || $0 == 0x2E || $0 == 0x2D })
        for joint in ["..", ".@", "@.", "@-"] { try promise("no dot stands alone", !address.text.contains(joint)) }
        try promise("no dot stands at an end", text.first != 0x2E && text.last != 0x2E && text.last != 0x2D)
        try promise("case alone tells the login from it", login == text.map { (65...90).contains($0) ? $0 | 32 : $0 })
        try promise("the login is an address with the same login", EmailAddress(address.login)?.login == address.login)
        try promise(
            "every spelling is one mailbox",
            EmailAddress(address.text.uppercased())?.mailbox == address.mailbox
        )
        return true
    }
}
