import AdministrationAPI
import ArgumentParser
import Description
import Encodings

extension ResourceVerb {
    /// The part of the help text that explains how to write values.
    static let values = """
        Write durations as 30s, 15m, 12h, 90d or 14 days. Separate list elements with commas; [] is an empty list. A \
        secret is read from a file, NAME=@FILE, or from standard input, NAME=@-, which asks on a terminal.
        """

    func configuration(_ abstract: String, _ text: String, examples: String) -> CommandConfiguration {
        let lines = paths.map { "  \($0.template)\n\(HelpText.wrapped($0.summary))" }
        return CommandConfiguration(
            commandName: rawValue,
            abstract: abstract,
            discussion: """
                \(text)

                PATHS
                \(lines.joined(separator: "\n"))

                To list the members of a path: federation \(rawValue) \(example) --help

                Examples:
                \(examples)
                """
        )
    }

    private var example: String {
        switch self {
        case .get, .patch, .delete: "applications/demo"
        case .list: "audit"
        case .set: "operators/ann"
        }
    }

    /// Returns the help text for a resource's path, as in `federation patch applications/demo --help`.
    ///
    /// Nil if the arguments do not ask for such help.
    static func help(for arguments: [String]) throws -> String? {
        guard arguments.count > 2, let verb = ResourceVerb(rawValue: arguments[0]), !arguments[1].hasPrefix("-"),
            arguments.contains(where: { ["--help", "-h"].contains($0) })
        else { return nil }
        let path: ResourcePath
        do { path = try ResourcePath(arguments[1], verb) } catch let error as ValidationError {
            throw Exit.refusing(error.message)
        }
        let parameters = path.query.map { "  \($0.name)\n\(HelpText.wrapped($0.description))" }
        let members = (path.document?.leaves ?? []).filter { $0.name != path.named?.member }.map { leaf in
            let shape = leaf.schema.typed(as: leaf.name)
            let text = [leaf.schema.description ?? leaf.schema.resolved.description, "(\(shape.form))"]
            return "  \(leaf.name)\n\(HelpText.wrapped(text.compactMap(\.self).joined(separator: " ")))"
        }
        let names = parameters + members
        return """
            \(path.route.summary)

            USAGE: federation \(verb) \(TerminalText.escaped(arguments[1]))\(names.isEmpty ? "" : " [NAME=VALUE …]")
            \(names.isEmpty ? "It has only the options of federation \(verb)." : names.joined(separator: "\n"))
            """
    }
}

enum HelpText {
    /// Breaks a text into indented lines of fewer than 80 characters.
    ///
    /// ArgumentParser would break longer lines at any character.
    static func wrapped(_ text: String) -> String {
        let margin = "      "
        var lines = [margin]
        for word in text.split(whereSeparator: \.isWhitespace) {
            let line = lines[lines.count - 1]
            let isFirst = line.count == margin.count
            if isFirst || line.count + word.count < 79 {
                lines[lines.count - 1] += (isFirst ? "" : " ") + word
            } else {
                lines.append(margin + word)
            }
        }
        return lines.joined(separator: "\n")
    }
}
