/// A user's name that is safe in a mail: one short line that no mail program turns into a link.
///
/// Users choose their names. An attacker could register the e-mail address of another human, and choose a name such as
/// `Win at evil.example`. So the service must not mail such a name to an unconfirmed address.
struct ShownName {
    let text: String

    /// The maximum number of Unicode scalars in a name.
    ///
    /// A longer name is not shown.
    private static let longest = 60

    /// Creates a name that is safe to show; nil for any other name.
    init?(_ name: String) {
        guard !name.utf8.isEmpty, name.utf8.count <= 4 * Self.longest else { return nil }
        let scalars = Array(name.unicodeScalars)
        guard scalars.count <= Self.longest else { return nil }
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "/", "\\", "@", ":": return nil
            // A full stop is allowed only at the end of a word, as in an initial.
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
    /// Whether the scalar is invisible: a line break, a control character, a direction mark or the like.
    var isControlOrFormat: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
