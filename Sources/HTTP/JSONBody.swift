import HTTPTypes
package import Hummingbird
import NIOCore
package import Vocabulary

extension Request {
    /// Bytes of the largest body that the public API reads.
    package static let bodyLimit = JSONLimits.request.bytes

    /// The JSON object that the body is.
    ///
    /// - Parameter limits: What it may hold; of as many bytes as every body.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    // Inlined into the closures of routes, it makes the optimizer of Swift 6.3.1 crash ("While splitting coroutine").
    @inline(never)
    package func jsonObject(limits: JSONLimits = .request) async throws(Failure) -> JSONObject {
        try JSONObject(body: try await jsonBody(upTo: Self.bodyLimit), limits: limits)
    }

    /// The whole body.
    ///
    /// - Parameters:
    ///   - limit: Bytes of the largest body that is read.
    ///   - types: Media types that may be declared, in lower case.
    /// - Returns: The bytes of the body.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    package func jsonBody(upTo limit: Int, as types: [String] = ["application/json"]) async throws(Failure) -> [UInt8] {
        try requireType(types)
        return try await wholeBody(upTo: limit)
    }

    /// The whole body of a request that may do without one; nil when it does.
    package func jsonBodyIfAny(upTo limit: Int) async throws(Failure) -> [UInt8]? {
        let body = try await wholeBody(upTo: limit)
        guard !body.isEmpty else { return nil }
        try requireType(["application/json"])
        return body
    }

    private func requireType(_ types: [String]) throws(Failure) {
        guard let type = headers[.contentType], types.contains(where: { Self.essence(of: type, is: $0) }) else {
            let types = types.joined(separator: " or ")
            throw Failure(.unsupportedMediaType, "The body must be JSON, sent with Content-Type: \(types).")
        }
    }

    /// The whole body, of whatever type it is.
    package func wholeBody(upTo limit: Int) async throws(Failure) -> [UInt8] {
        var tooLarge: Failure { Failure(.payloadTooLarge, "The body is larger than \(limit) bytes.") }
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        do {
            let buffer = try await body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch {
            // The client hung up or broke the framing; whether it still reads the answer is its matter.
            throw Failure(.malformedRequest, "The body did not arrive whole.")
        }
    }

    /// Whether a media type is this one, with or without parameters, in any case.
    package static func essence(of type: String, is expected: String) -> Bool {
        let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }.lazy.filter { $0 != 0x20 && $0 != 0x09 }
        return essence.map(\.asciiLowercased).elementsEqual(expected.utf8)
    }
}

extension JSONParser {
    /// Parses the body of a request.
    ///
    /// - Throws: `malformed_request`, `payload_too_large`.
    package static func parse(body: [UInt8], limits: JSONLimits) throws(Failure) -> JSONValue {
        do {
            return try parse(body, limits: limits)
        } catch {
            throw Failure(
                error.rule == .tooLarge ? .payloadTooLarge : .malformedRequest,
                "The body cannot be taken: \(error).",
                details: ["offset": .integer(Int64(error.offset))]
            )
        }
    }
}

extension JSONObject {
    /// The object that a body is.
    ///
    /// - Throws: `malformed_request`, `payload_too_large`.
    package init(body bytes: [UInt8], limits: JSONLimits = .request) throws(Failure) {
        try self.init(body: try JSONParser.parse(body: bytes, limits: limits))
    }

    /// The object that a body holds.
    ///
    /// - Throws: `malformed_request`.
    package init(body value: JSONValue) throws(Failure) {
        guard let object = value.object else {
            throw Failure(.malformedRequest, "The body must be a JSON object, it is \(value.kind).")
        }
        self = object
    }

    /// A member that is a text; nil when it is absent.
    package func text(_ key: String) throws(Failure) -> String? {
        guard let value = present(key) else { return nil }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(key) must be a text, it is \(value.kind).")
        }
        return text
    }

    /// A member that is true or false; false when it is absent.
    package func flag(_ key: String) throws(Failure) -> Bool {
        guard let value = present(key) else { return false }
        guard let flag = value.bool else {
            throw Failure(.malformedRequest, "\(key) must be true or false, it is \(value.kind).")
        }
        return flag
    }
}
