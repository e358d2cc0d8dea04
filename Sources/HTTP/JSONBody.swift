package import Domain
package import Encodings
import HTTPTypes
package import Hummingbird
import NIOCore

extension Request {
    /// The maximum length in bytes of a body that the public API reads.
    package static let bodyLimit = JSONLimits.request.bytes

    /// Reads the body as a JSON object.
    ///
    /// - Parameter limits: The limits that the JSON parser checks. The body has at most `bodyLimit` bytes in any case.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    // If this function is inlined into the closures of routes, the optimizer of Swift 6.3.1 crashes ("While splitting
    // coroutine").
    @inline(never)
    package func jsonObject(limits: JSONLimits = .request) async throws(Failure) -> JSONObject {
        try JSONObject(body: try await jsonBody(upTo: Self.bodyLimit), limits: limits)
    }

    /// Reads the whole body of a request that must send JSON, without parsing it.
    ///
    /// - Parameters:
    ///   - limit: The maximum length of the body in bytes.
    ///   - types: The accepted media types, in lower case.
    /// - Returns: The bytes of the body.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    package func jsonBody(upTo limit: Int, as types: [String] = ["application/json"]) async throws(Failure) -> [UInt8] {
        try requireType(types)
        return try await wholeBody(upTo: limit)
    }

    /// Reads the whole JSON body of a request, without parsing it; nil when the request has no body.
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

    /// Reads the whole body, of any media type.
    package func wholeBody(upTo limit: Int) async throws(Failure) -> [UInt8] {
        var tooLarge: Failure { Failure(.payloadTooLarge, "The body is larger than \(limit) bytes.") }
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        do {
            let buffer = try await body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch {
            // The client closed the connection or broke the framing; it may not read the response.
            throw Failure(.malformedRequest, "The body is incomplete.")
        }
    }

    /// Returns whether a media type is `expected`, ignoring its parameters and the case of its letters.
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
                "The body cannot be read: \(error).",
                details: ["offset": .integer(Int64(error.offset))]
            )
        }
    }
}

extension JSONObject {
    /// Parses a body that is an object.
    ///
    /// - Throws: `malformed_request`, `payload_too_large`.
    package init(body bytes: [UInt8], limits: JSONLimits = .request) throws(Failure) {
        try self.init(body: try JSONParser.parse(body: bytes, limits: limits))
    }

    /// Takes the object of a parsed body; refuses a body that is not a JSON object.
    ///
    /// - Throws: `malformed_request`.
    package init(body value: JSONValue) throws(Failure) {
        guard let object = value.object else {
            throw Failure(.malformedRequest, "The body must be a JSON object, it is \(value.kind).")
        }
        self = object
    }

    /// Returns a text member; nil when it is absent.
    package func text(_ key: String) throws(Failure) -> String? {
        guard let value = present(key) else { return nil }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(key) must be a text, it is \(value.kind).")
        }
        return text
    }

    /// Returns a boolean member; false when it is absent.
    package func flag(_ key: String) throws(Failure) -> Bool {
        guard let value = present(key) else { return false }
        guard let flag = value.bool else {
            throw Failure(.malformedRequest, "\(key) must be true or false, it is \(value.kind).")
        }
        return flag
    }
}
