import Domain
package import Hummingbird
import NIOHTTP1

/// A defect of a request that is independent of the requested resource.
///
/// The error response must come in the order of the connection's requests, and must look like all error responses. So
/// the connection handler replaces the faulty request by one whose path is the name of the fault. The router then
/// responds to it with the error. No client can send a path that names a fault, because real paths begin with a slash.
enum RequestFault: String, CaseIterable {
    case host, target, longTarget, framing, length, largeHead, unreadable

    /// The maximum number of header fields of a request.
    static let maxFields = 100
    /// The maximum length of one header field in bytes.
    static let longestField = 16_384

    var failure: Failure {
        switch self {
        case .host:
            Failure(
                .malformedRequest,
                "A request needs exactly one Host header with a name or address and an optional port."
            )
        case .target:
            Failure(
                .malformedRequest,
                "The target of a request must be a path, or an http or https URL, without user name and fragment."
            )
        case .longTarget:
            Failure(
                .targetTooLong,
                "Path and query are longer than \(HTTPRequestHead.longestTarget) bytes. Send the values in the body."
            )
        case .framing:
            Failure(.malformedRequest, "Transfer-Encoding must be chunked, and is not allowed in HTTP/1.0.")
        case .length: Failure(.malformedRequest, "Content-Length must be one decimal number.")
        case .largeHead:
            Failure(
                .malformedRequest,
                "The headers are too large: at most \(Self.maxFields) fields of at most \(Self.longestField) bytes."
            )
        case .unreadable:
            Failure(
                .malformedRequest,
                "The request is not valid HTTP/1.1, or its headers are too large. The connection is closed."
            )
        }
    }
}

extension Request {
    /// The fault that the connection handler found in the request; nil when the request is valid.
    var fault: RequestFault? { head.path.flatMap { RequestFault(rawValue: $0) } }

    package var isAtFault: Bool { fault != nil }
}
