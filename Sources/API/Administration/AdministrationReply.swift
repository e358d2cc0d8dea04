import Administration
import HTTP
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// What a route of the administration answers.
enum AdministrationReply: Sendable {
    /// 200, with the entity tag.
    case resource(Resource)
    /// 201, with the entity tag and the path of what was made, its segments as they are.
    case created(Resource, at: [String])
    /// 200, a part of a list.
    case page(Page)
    /// 200, something without an entity tag.
    case value(JSONValue)
    /// 200, JSON that is written already.
    case text([UInt8])
    /// 200, a list to its end, one JSON text a line: a first page, and how to get the page behind a cursor.
    case lines(Page, next: @Sendable (String) async throws(Failure) -> Page)
    /// 204.
    case done

    /// The response to a request; a reader who has this version already gets 304.
    func response(to request: Request) throws(Failure) -> Response {
        switch self {
        case .resource(let resource):
            let headers = Self.headers(of: resource)
            if request.method == .get, let tag = resource.tag, let known = request.headers[.ifNoneMatch],
                try EntityTags(known, header: "If-None-Match").includes(tag)
            {
                var headers = headers
                headers[.cacheControl] = "no-store"
                return Response(status: .notModified, headers: headers)
            }
            return .json(Self.writer(resource.body), headers: headers)
        case .created(let resource, let segments):
            var headers = Self.headers(of: resource)
            headers[.location] =
                AdministrationRoute.base + segments.map(PercentEncoding.encode).joined(separator: "/")
            return .json(Self.writer(resource.body), status: .created, headers: headers)
        case .page(let page):
            return .json(Self.writer(page.json))
        case .value(let value):
            return .json(Self.writer(value))
        case .text(let bytes):
            return .json(bytes)
        case .lines(let first, let next):
            // The caller's place among the requests under way is free from here on: a reader who stops reading keeps
            // nobody else out.
            let body = ResponseBody { writer in
                try await Self.write(first, next: next, to: &writer)
                try await writer.finish(nil)
            }
            return Response(
                status: .ok,
                headers: [.contentType: "application/jsonl", .cacheControl: "no-store"],
                body: body
            )
        case .done:
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
    }

    private static func headers(of resource: Resource) -> HTTPFields {
        var headers = HTTPFields()
        headers[.eTag] = resource.tag.map(EntityTag.written)
        return headers
    }

    private static func writer(_ value: JSONValue) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        writer.value(value)
        return writer
    }

    /// Writes page after page.
    ///
    /// A page that cannot be read ends the connection, so that nobody takes the part for the whole.
    private static func write(
        _ first: Page,
        next: @Sendable (String) async throws(Failure) -> Page,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        var page = first
        while true {
            var lines = ByteBuffer()
            for item in page.items {
                lines.writeBytes(Self.writer(item).bytes)
                lines.writeInteger(UInt8(ascii: "\n"))
            }
            if lines.readableBytes > 0 { try await writer.write(lines) }
            guard let cursor = page.next else { return }
            page = try await next(cursor)
        }
    }
}

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
