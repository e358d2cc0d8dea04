import Encodings

/// Formats changes as lines: `+` for additions, `-` for removals, `~` for changes, and the details below each.
struct ChangeLines {
    private(set) var lines: [String] = []

    var isEmpty: Bool { lines.isEmpty }

    /// Formats the changes of an `ApplicationPlan`, which is given as JSON.
    init(ofPlan plan: JSONValue) {
        for change in plan.object?["changes"]?.array?.compactMap(\.object) ?? [] {
            let names = [change["action"]?.string, change["target"]?.string].compactMap { $0 }
            add(names.joined(separator: " "), from: change.present("from"), to: change.present("to"))
        }
    }

    /// Formats the differences between two mappings, as `mappingDifference` returns them.
    init(ofMappings difference: JSONValue) {
        let object = difference.object ?? JSONObject()
        for entry in object["removed"]?.array ?? [] { add("-", entry) }
        for entry in object["added"]?.array ?? [] { add("+", entry) }
        for change in object["changed"]?.array?.compactMap(\.object) ?? [] {
            add(change["to"]?.string ?? "", from: change.present("from"), to: change.present("into"))
        }
    }

    func print() throws {
        try Terminal.print(lines.map { $0 + "\n" }.joined())
    }

    // MARK: Lines

    private mutating func add(_ sign: String, _ value: JSONValue) {
        lines.append("\(sign) \(Cell.text(value))")
    }

    private mutating func add(_ name: String, from: JSONValue?, to: JSONValue?) {
        let line = (from == nil ? "+ " : to == nil ? "- " : "~ ") + TerminalText.escaped(name)
        switch (from, to) {
        case (.object(let from)?, .object(let to)?):
            lines.append(line)
            addMembers(from, to)
        case _ where Self.isListOfObjects(from) || Self.isListOfObjects(to):
            lines.append(line)
            addElements(from?.array ?? [], to?.array ?? [])
        default:
            let values = [from, to].compactMap { $0.map { Cell.text($0) } }
            lines.append(line + (values.isEmpty ? "" : "  " + values.joined(separator: " → ")))
        }
    }

    private static func isListOfObjects(_ value: JSONValue?) -> Bool {
        value?.array?.contains { $0.object != nil } == true
    }

    private mutating func addMembers(_ from: JSONObject, _ to: JSONObject) {
        let added = to.members.filter { from[$0.key] == nil }
        for key in (from.members + added).map(\.key) where from[key] != to[key] {
            lines.append("    \(TerminalText.escaped(key)): \(Cell.text(from[key])) → \(Cell.text(to[key]))")
        }
    }

    private mutating func addElements(_ from: [JSONValue], _ to: [JSONValue]) {
        let count = lines.count
        for element in from where !to.contains(element) { lines.append("    - \(Cell.text(element))") }
        for element in to where !from.contains(element) { lines.append("    + \(Cell.text(element))") }
        if lines.count == count { lines.append("    (in another order)") }
    }
}
