/// A name as a mail may show it: one line, short, and nothing that a mail program would make a link of.
///
/// People choose their names, and an address that has not been confirmed may be somebody else's: a name such as
/// `Win at evil.example` must not make our mail carry it there.
struct ShownName {
    let text: String

    /// Most Unicode scalars of a name; longer ones are not shown.
    private static let longest = 60

    /// Nil for a name that is not to be shown.
    init?(_ name: String) {
        guard !name.utf8.isEmpty, name.utf8.count <= 4 * Self.longest else { return nil }
        let scalars = Array(name.unicodeScalars)
        guard scalars.count <= Self.longest else { return nil }
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "/", "\\", "@", ":": return nil
            // A full stop within a word, not behind an initial.
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
    /// Whether it is no sign of its own: line breaks, directions, what cannot be seen.
    var isControlOrFormat: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
