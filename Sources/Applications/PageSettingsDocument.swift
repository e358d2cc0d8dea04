package import Vocabulary

extension PageSettings {
    /// Reads `settings.pages`; what is absent keeps its default.
    package init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            switch member.key {
            case "color":
                color = member.value.string.flatMap { PageColor($0) }
                if color == nil, !member.value.isNull {
                    problems.add(place, "must be a color of six hexadecimal digits, like #1877f2")
                }
            case "logo":
                logo = member.value.string.flatMap { PageLogo($0) }
                if logo == nil, !member.value.isNull {
                    problems.add(
                        place,
                        """
                        must be a picture as an address like data:image/png;base64,…, of png, jpeg, webp or svg+xml, at most \
                        \(PageLogo.mostBytes) bytes: a page asks no host for it
                        """
                    )
                }
            case "account":
                if let value = member.value.bool {
                    account = value
                } else {
                    problems.add(place, "must be true or false: whether users have a page of their account")
                }
            default:
                let known = PageSettings().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of pages")
            }
        }
    }

    /// As it is stored and exported.
    package var document: JSONValue {
        .object([
            "color": color.map { .string($0.text) } ?? .null, "logo": logo.map { .string($0.address) } ?? .null,
            "account": .bool(account),
        ])
    }
}
