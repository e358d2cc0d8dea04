import Domain
import Encodings
@testable import ServerTestSupport
import Testing

/// The expected shape of a response: JSON in which some texts stand for any value of a kind.
///
/// All other values must be equal, with the same members in the same order.
struct Shape: Sendable, ExpressibleByStringLiteral {
    private let pattern: JSONValue?

    init(stringLiteral text: String) {
        pattern = JSON.value(text)
    }

    func fits(_ value: JSONValue?) -> Bool {
        guard let pattern, let value else { return false }
        return Self.fits(value, pattern)
    }

    private static func fits(_ value: JSONValue, _ pattern: JSONValue) -> Bool {
        switch (value, pattern) {
        case (_, .string("<any>")): true
        case (.string(let text), .string("<text>")): !text.isEmpty
        case (.string(let text), .string("<guid>")): ObjectID(text)?.description == text
        case (.string(let text), .string("<token>")): text.utf8.count == 43
        case (.number(let number), .string("<ms>")): (number.integer ?? 0) > 1_700_000_000_000
        case (.object(let object), .object(let pattern)):
            object.keys == pattern.keys
                && zip(object.members, pattern.members).allSatisfy { fits($0.value, $1.value) }
        case (.array(let elements), .array(let pattern)):
            elements.count == pattern.count && zip(elements, pattern).allSatisfy { fits($0, $1) }
        default: value == pattern
        }
    }
}
