import Administration
import Federation
import Vocabulary

/// What `If-Match` and `If-None-Match` say: RFC 9110 §8.8.3, §13.1.1 and §13.1.2.
enum EntityTags: Equatable {
    /// `*`: whatever there is.
    case any
    case list([EntityTag])

    /// One tag, without its quotes.
    struct EntityTag: Equatable {
        let text: String
        let isWeak: Bool
    }

    /// Reads the value of a header; fields of one name count as one list.
    ///
    /// - Throws: `malformed_request`.
    init(_ value: String, header: String) throws(Failure) {
        guard let tags = Self.parse(Array(value.utf8)) else {
            throw Failure(
                .malformedRequest,
                #"\#(header) must be * or a list of entity tags in quotes, such as "17"; send the ETag as you got it."#
            )
        }
        self = tags
    }

    /// For a change: only a strong tag tells that nothing has changed.
    var precondition: Precondition {
        switch self {
        case .any: .any
        case .list(let tags): .tags(tags.filter { !$0.isWeak }.map(\.text))
        }
    }

    /// For a reader: whether it has this version already.
    func includes(_ tag: String) -> Bool {
        switch self {
        case .any: true
        case .list(let tags): tags.contains { $0.text.hasSameBytes(as: tag) }
        }
    }

    /// Empty elements are allowed between commas, since a sender may have made them of absent values.
    private static func parse(_ bytes: [UInt8]) -> EntityTags? {
        var rest = trimmed(bytes[...])
        if rest.elementsEqual("*".utf8) { return .any }
        var tags: [EntityTag] = []
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: ",") {
                rest = trimmed(rest.dropFirst())
                continue
            }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")),
                let text = String(validating: rest[(rest.startIndex + 1)..<end], as: UTF8.self),
                text.utf8.allSatisfy({ $0 == 0x21 || $0 >= 0x23 && $0 != 0x7F })
            else { return nil }
            tags.append(EntityTag(text: text, isWeak: isWeak))
            rest = trimmed(rest[(end + 1)...])
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
        }
        return tags.isEmpty ? nil : .list(tags)
    }

    /// Without the white space in front, and at the end.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let front = bytes.drop(while: isSpace)
        guard let last = front.lastIndex(where: { !isSpace($0) }) else { return [] }
        return front[...last]
    }
}
