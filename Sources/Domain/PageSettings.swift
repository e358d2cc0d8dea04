import Description
import Encodings

/// How an application's pages look, and which pages exist.
package struct PageSettings: Sendable, Equatable {
    /// The color of buttons; nil for the service's default color.
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

    /// Parses a color such as `#1877f2`; nil for every other notation.
    package init?(_ text: String) {
        guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"),
            let bytes = Hexadecimal.decode(text.utf8.dropFirst())
        else { return nil }
        (red, green, blue) = (bytes[0], bytes[1], bytes[2])
    }

    /// The color in the notation of style sheets, in lower case, such as `#1877f2`.
    package var text: String { "#" + Hexadecimal.encode([red, green, blue]) }
}

/// A picture as a `data:` URL, which the page itself contains.
///
/// The browser then need not request the picture from another host, which would learn who sets a new password, and
/// when.
package struct PageLogo: Sendable, Equatable {
    /// The maximum number of bytes of the URL, which every page contains and every instance keeps in memory.
    package static let maxBytes = 16_384

    private static let types = ["png", "jpeg", "webp", "svg+xml"]

    package let address: String

    /// Creates a picture from a `data:` URL; nil if the URL is too long, or is not a PNG, JPEG, WebP or SVG in base64.
    package init?(_ address: String) {
        guard address.utf8.count <= Self.maxBytes,
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

extension PageSettings {
    static let description = ObjectDescription(
        PageSettings(),
        unknown: "is not a setting of pages",
        [
            Field(
                "color",
                \.color,
                Codec.text(colorRule, { PageColor($0) }, text: \.text).orNull,
                "color",
                """
                The color of buttons. null: the default color. The text on a button is black or white, whichever is \
                easier to read.
                """
            ),
            Field(
                "logo",
                \.logo,
                Codec.text(logoRule, { PageLogo($0) }, text: \.address).orNull,
                "logo",
                """
                A picture next to the name, as a data URL: data:image/png;base64,… (or jpeg, webp, svg+xml), at most \
                16,384 bytes. null: no picture.
                """
            ),
            Field(
                "account",
                \.account,
                .flag,
                "account page",
                "Whether users have a page on which they see and change their account. Needs FEDERATION_PUBLIC_URL."
            ),
        ]
    )

    private static let colorRule = TextRule(
        "must be a color of six hexadecimal digits, like #1877f2",
        pattern: "^#[0-9A-Fa-f]{6}$",
        example: "#1877f2"
    ) { PageColor($0) != nil }

    private static let logoRule = TextRule(
        """
        must be a data URL like data:image/png;base64,… with a picture of type png, jpeg, webp or svg+xml, at most \
        \(PageLogo.maxBytes) bytes; pages load nothing from another host
        """,
        pattern: "^data:image/(png|jpeg|webp|svg[+]xml);base64,"
            + "([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        maxBytes: Int64(PageLogo.maxBytes)
    ) { PageLogo($0) != nil }
}
