package import Vocabulary

/// Something that operators look at and change.
package struct Resource: Sendable {
    package let body: JSONValue
    /// The entity tag without its quotes; nil where there is nothing to guard.
    package let tag: String?

    package init(_ body: JSONValue, tag: String?) {
        self.body = body
        self.tag = tag
    }
}

/// A part of a list.
package struct Page: Sendable {
    package let items: [JSONValue]
    /// The cursor of the next page; nil when this is the last.
    package let next: String?

    package init(items: [JSONValue], next: String?) {
        self.items = items
        self.next = next
    }

    /// As replies carry it.
    package var json: JSONValue {
        .object(["items": .array(items), "next": next.map(JSONValue.string) ?? .null])
    }
}

/// Which part of a list is wanted.
package struct PageRequest: Sendable {
    package static let mostItems = 200
    package static let usualItems = 50

    package let limit: Int
    /// What `Page.next` was.
    package let cursor: String?

    /// Takes what a caller asked for.
    ///
    /// - Throws: `malformed_request` for a limit beyond 1 to 200.
    package init(limit: Int? = nil, cursor: String? = nil) throws(Failure) {
        let limit = limit ?? Self.usualItems
        guard (1...Self.mostItems).contains(limit) else {
            throw Failure(.malformedRequest, "limit must be a whole number from 1 to \(Self.mostItems).")
        }
        self.limit = limit
        self.cursor = cursor
    }

    /// A page of a list of which one element more than asked for was read, so that it is known whether there are more.
    package func page<Element>(
        of elements: [Element],
        cursor: (Element) -> String,
        _ json: (Element) -> JSONValue
    ) -> Page {
        let shown = elements.prefix(limit)
        return Page(items: shown.map(json), next: elements.count > limit ? shown.last.map(cursor) : nil)
    }
}

/// What must be so for a change to happen: `If-Match` of RFC 9110.
package enum Precondition: Sendable {
    /// None was given: the change is refused, since nobody can know what it would overwrite.
    case missing
    /// Whatever there is now.
    case any
    /// The resource has one of these tags.
    case tags([String])

    /// Holds a resource's tag against it.
    ///
    /// - Throws: `precondition_required`, `precondition_failed`.
    package func check(_ tag: String) throws(Failure) {
        switch self {
        case .any: return
        case .missing:
            throw Failure(
                .preconditionRequired,
                "This change needs the header If-Match with the ETag that you read, or * to overwrite whatever is there."
            )
        case .tags(let tags):
            guard tags.contains(where: { $0.hasSameBytes(as: tag) }) else {
                throw Failure(
                    .preconditionFailed,
                    "Somebody has changed this since you read it. Read it again and repeat the change.",
                    details: ["etag": .string(EntityTag.written(tag))]
                )
            }
        }
    }
}
