import HTTPTypes
import Hummingbird
import Identity
import NIOCore

extension Request {
    /// The whole body.
    ///
    /// - Parameters:
    ///   - limit: Bytes of the largest body that is read.
    ///   - types: Media types that may be declared, in lower case.
    /// - Returns: The bytes of the body.
    /// - Throws: `unsupported_media_type`, `payload_too_large`, `malformed_request`.
    func jsonBody(upTo limit: Int, as types: [String] = ["application/json"]) async throws(Failure) -> [UInt8] {
        try requireType(types)
        return try await wholeBody(upTo: limit)
    }

    /// The whole body of a request that may do without one; nil when it does.
    func jsonBodyIfAny(upTo limit: Int) async throws(Failure) -> [UInt8]? {
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
    func wholeBody(upTo limit: Int) async throws(Failure) -> [UInt8] {
        let tooLarge = Failure(.payloadTooLarge, "The body is larger than \(limit) bytes.")
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
    static func essence(of type: String, is expected: String) -> Bool {
        let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }.lazy.filter { $0 != 0x20 && $0 != 0x09 }
        return essence.map(\.asciiLowercased).elementsEqual(expected.utf8)
    }
}

extension JSONParser {
    /// Parses the body of a request.
    ///
    /// - Throws: `malformed_request`, `payload_too_large`.
    static func parse(body: [UInt8], limits: JSONLimits) throws(Failure) -> JSONValue {
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
