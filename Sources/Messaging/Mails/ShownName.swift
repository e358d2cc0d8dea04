/// A user's name that is safe in a mail: one short line that no mail program makes a link of.
///
/// Users choose their names, and an unconfirmed address may belong to someone else. So a name such as `Win at
/// evil.example` must not reach that address in our mail.
struct ShownName {
    let text: String

    /// The maximum number of Unicode scalars of a name; a longer name is not shown.
    private static let longest = 60

    /// Returns nil for a name that must not be shown.
    init?(_ name: String) {
        guard !name.utf8.isEmpty, name.utf8.count <= 4 * Self.longest else { return nil }
        let scalars = Array(name.unicodeScalars)
        guard scalars.count <= Self.longest else { return nil }
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "/", "\\", "@", ":": return nil
            // A full stop within a word is refused; one after an initial is allowed.
            case ".", "\u{3002}", "\u{FF0E}", "\u{FF61}":
                guard index + 1 == scalars.count || scalars[index + 1] == " " else { return nil }
            default:
                guard !scalar.isControlOrFormat else { return nil }
            }
        }
        text = name
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is not a visible character: a line break, a direction mark or another invisible scalar.
    var isControlOrFormat: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
