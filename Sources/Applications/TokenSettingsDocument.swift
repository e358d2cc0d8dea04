package import Vocabulary

extension TokenSettings {
    /// Longer than an hour, and ending a session or disabling a user would mean nothing to whoever checks tokens.
    private static let lifetimes: ClosedRange<Int64> = 60...3600
    private static let mostAudienceBytes = 200

    /// Reads `settings.tokens`; what is absent keeps its default.
    package init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            switch member.key {
            case "enabled": problems.take(member.value, at: place, into: &enabled)
            case "seconds": problems.take(member.value, at: place, into: &seconds, Self.lifetimes, "seconds")
            case "audience":
                guard !member.value.isNull else { break }
                if let text = member.value.string, Self.isAudience(text) {
                    audience = text
                } else {
                    problems.add(
                        place,
                        "must be 1 to \(Self.mostAudienceBytes) printable ASCII characters without spaces"
                    )
                }
            default:
                let known = TokenSettings().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of tokens")
            }
        }
    }

    /// As it is stored and exported.
    package var document: JSONValue {
        .object([
            "enabled": .bool(enabled), "seconds": .integer(seconds),
            "audience": audience.map(JSONValue.string) ?? .null,
        ])
    }

    /// Services compare it with a text of theirs.
    private static func isAudience(_ text: String) -> Bool {
        (1...mostAudienceBytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
