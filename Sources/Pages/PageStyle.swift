import Crypto
import Domain
import FoundationEssentials
import Glibc

/// A style sheet or a script that is contained in a page.
///
/// The content security policy of the page allows it by its digest.
package struct InlineAsset: Sendable {
    let text: HTML
    /// The digest of the style sheet or script, in the form in which the content security policy lists it.
    let source: String

    init(_ bytes: [UInt8]) {
        text = HTML(markup: String(decoding: bytes, as: UTF8.self))
        source = "'sha256-\(Data(SHA256.hash(data: bytes)).base64EncodedString())'"
    }
}

/// The look of pages: one style sheet for all, and the color of an application.
///
/// The sheet supports light and dark mode, windows from 320 px of width, and any size of text. So widths are in `rem`,
/// and elements without room beside each other are placed one below the other.
enum PageStyle {
    static let sheet = InlineAsset(PackageResources.page_css)

    /// The default colors, for applications that set no color.
    private static let usual: (accent: String, onAccent: String) = ("#1f4fd8", "#ffffff")

    /// Returns the style sheet that sets an application's color, and a readable color for text on it.
    static func colors(of settings: PageSettings) -> InlineAsset {
        let (accent, onAccent) = settings.color.map { ($0.text, isDark($0) ? "#ffffff" : "#000000") } ?? usual
        return InlineAsset(Array(":root { --accent: \(accent); --on-accent: \(onAccent); }".utf8))
    }

    /// Returns whether white text on a color has a higher contrast ratio (WCAG 2.2) than black text.
    ///
    /// On any color, either white or black text has a ratio of at least √21, which is 4.58.
    private static func isDark(_ color: PageColor) -> Bool {
        let luminance = luminance(of: color)
        return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05
    }

    /// Returns the relative luminance of a color (WCAG 2.2).
    static func luminance(of color: PageColor) -> Double {
        func linear(_ channel: UInt8) -> Double {
            let value = Double(channel) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue)
    }
}
