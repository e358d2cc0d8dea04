import Encodings
import Pages

/// The values that a change has changed, as a list.
///
/// Objects are compared member by member, and lists element by element, so values that stay are not in the list.
struct ChangedValues {
    private struct Value {
        /// The names that lead to the value, joined by full stops; empty for the whole.
        let path: String
        let before: JSONValue?
        let after: JSONValue?

        var html: HTML {
            let name: HTML = "<code>\(path)</code> "
            let former: HTML = "\(HTML.value(before)) → "
            return "<li>\(name, if: !path.isEmpty)\(former, if: before != nil)\(HTML.value(after))</li>"
        }
    }

    private let values: [Value]

    /// - Parameters:
    ///   - before: The value before the change; nil or null if the change created it.
    ///   - after: The value after the change; nil or null if the change removed it.
    init(from before: JSONValue?, to after: JSONValue?) {
        values = Self.differences("", before, after)
    }

    /// How many values a list shows unfolded.
    private static let few = 4

    /// The list; nil without changed values.
    var html: HTML? {
        guard !values.isEmpty else { return nil }
        let list: HTML = "<ul class=\"plain\">\(values.map(\.html))</ul>"
        guard values.count > Self.few else { return list }
        return "<details><summary>\(values.count) values</summary>\(list)</details>"
    }

    private static func differences(_ path: String, _ before: JSONValue?, _ after: JSONValue?) -> [Value] {
        let (before, after) = (before.flatMap { $0.isNull ? nil : $0 }, after.flatMap { $0.isNull ? nil : $0 })
        guard before != after else { return [] }
        if let names = names(before, after) {
            return names.flatMap { name in
                differences(path.isEmpty ? name : "\(path).\(name)", before?.object?[name], after?.object?[name])
            }
        }
        if let old = before?.array, let new = after?.array {
            let (removed, added) = (old.filter { !new.contains($0) }, new.filter { !old.contains($0) })
            // Lists with the same elements differ in their order.
            if !removed.isEmpty || !added.isEmpty {
                let left = removed.map { Value(path: path, before: $0, after: nil) }
                return left + added.map { Value(path: path, before: nil, after: $0) }
            }
        }
        return [Value(path: path, before: before, after: after)]
    }

    /// Returns the names of the members of one or two objects; nil if a value is no object, or has no members.
    private static func names(_ before: JSONValue?, _ after: JSONValue?) -> [String]? {
        let objects = [before, after].compactMap(\.self).map(\.object)
        let names = objects.compactMap { $0?.members.map(\.key) }
        guard names.count == objects.count, let first = names.first else { return nil }
        let all = first + names.dropFirst().joined().filter { !first.contains($0) }
        return all.isEmpty ? nil : all
    }
}
