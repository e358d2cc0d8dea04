import Administration
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import NIOCore

/// A response of a route of the administration.
enum AdministrationReply: Sendable {
    /// Status 200 with a resource and its entity tag.
    case resource(Resource)
    /// Status 201 with a new resource, its entity tag and its path. The segments of the path are not percent-encoded.
    case created(Resource, at: [String])
    /// Status 200 with a page of a list.
    case page(Page)
    /// Status 200 with a value and without an entity tag.
    case value(JSONValue)
    /// Status 200 with the bytes of a JSON text.
    case text([UInt8])
    /// Status 200 with a whole list, one JSON text per line. The values are the first page of the list, and a closure
    /// that returns the page after a cursor.
    case lines(Page, next: @Sendable (String) async throws(Failure) -> Page)
    /// Status 204 without a body.
    case done

    /// Returns the response to a request.
    ///
    /// The status is 304 if the header `If-None-Match` shows that the client already has this version of the resource.
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
            // The request gives its slot back before the body is sent. A client that stops reading therefore blocks no
            // other.
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

    /// Writes the items of all pages, one JSON text per line.
    ///
    /// If a page cannot be read, the connection is closed without the end of the body. A client therefore notices that
    /// the list is incomplete.
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

/// The value of `If-Match` and `If-None-Match`: RFC 9110 §8.8.3, §13.1.1 and §13.1.2.
enum EntityTags: Equatable {
    /// `*`: any version of the resource.
    case any
    case list([EntityTag])

    /// One tag, without its quotes.
    struct EntityTag: Equatable {
        let text: String
        let isWeak: Bool
    }

    /// Reads the value of a header.
    ///
    /// Several header fields with the same name are one list.
    ///
    /// - Throws: `malformed_request`.
    init(_ value: String, header: String) throws(Failure) {
        guard let tags = Self.parse(Array(value.utf8)) else {
            throw Failure(
                .malformedRequest,
                #"\#(header) must be * or a list of entity tags in quotes, such as "17". Send the ETag unchanged."#
            )
        }
        self = tags
    }

    /// The precondition that the header `If-Match` sets for a change.
    ///
    /// Weak entity tags are left out, since an equal weak tag does not mean that the resource is unchanged.
    var precondition: Precondition {
        switch self {
        case .any: .any
        case .list(let tags): .tags(tags.filter { !$0.isWeak }.map(\.text))
        }
    }

    /// Returns whether the header lists this entity tag or is `*`: the client then already has this version of the
    /// resource.
    func includes(_ tag: String) -> Bool {
        switch self {
        case .any: true
        case .list(let tags): tags.contains { $0.text.hasSameBytes(as: tag) }
        }
    }

    /// Reads a list of tags.
    ///
    /// Empty elements are allowed: RFC 9110 lets senders write them for absent values.
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

    /// Returns the bytes without white space at both ends.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let front = bytes.drop(while: isSpace)
        guard let last = front.lastIndex(where: { !isSpace($0) }) else { return [] }
        return front[...last]
    }
}
