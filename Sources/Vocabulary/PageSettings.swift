/// How the pages look that people see of an application, and which there are.
package struct PageSettings: Sendable, Equatable {
    /// The color of buttons; nil for one of ours.
    package var color: PageColor?
    /// A picture beside the application's name; nil for none.
    package var logo: PageLogo?
    /// Whether users have a page on which they see and change their account.
    package var account = false

    package init() {}
}

/// A color as style sheets write it, `#1877f2`: sRGB, without transparency.
package struct PageColor: Sendable, Equatable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8

    /// Nil for every other way to write a color.
    package init?(_ text: String) {
        guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"),
            let bytes = Hexadecimal.decode(text.utf8.dropFirst())
        else { return nil }
        (red, green, blue) = (bytes[0], bytes[1], bytes[2])
    }

    /// In lower case.
    package var text: String { "#" + Hexadecimal.encode([red, green, blue]) }
}

/// A picture as a `data:` address, so that a page has it without asking anybody: another host would learn who sets a
/// new password, and when.
package struct PageLogo: Sendable, Equatable {
    /// Bytes of the longest address; it is in every page, and in the memory of every instance.
    package static let mostBytes = 16_384

    private static let types = ["png", "jpeg", "webp", "svg+xml"]

    package let address: String

    /// Nil for what is none of the four kinds of pictures in base64, or too long.
    package init?(_ address: String) {
        guard address.utf8.count <= Self.mostBytes,
            let start = Self.types.lazy.map({ "data:image/\($0);base64," }).first(where: {
                address.utf8.starts(with: $0.utf8)
            })
        else { return nil }
        let digits = address.utf8.dropFirst(start.utf8.count)
        let padding = digits.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard digits.count.isMultiple(of: 4), digits.count - padding >= 4,
            digits.dropLast(padding).allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "+/") })
        else { return nil }
        self.address = address
    }
}
