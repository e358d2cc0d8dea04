package import Vocabulary

extension PasswordRules {
    /// NIST SP 800-63B, revision 4, knows none below 8, and has those of 64 taken.
    private static let fewest: ClosedRange<Int64> = 8...64

    /// Reads `settings.passwords`; what is absent keeps its default.
    package init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            switch member.key {
            case "fewestCharacters":
                problems.take(member.value, at: place, into: &fewestCharacters, Self.fewest, "characters")
            default:
                let known = PasswordRules().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of passwords")
            }
        }
    }

    /// As it is stored and exported.
    package var document: JSONValue { .object(["fewestCharacters": .integer(fewestCharacters)]) }
}
