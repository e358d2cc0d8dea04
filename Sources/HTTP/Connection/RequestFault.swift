import Hummingbird
import NIOHTTP1
import Vocabulary

/// What is wrong with a request whatever it asks for.
///
/// A fault is answered in the order of the connection's requests, and in the form of every error. So the connection
/// hands on a request whose path is the fault's name; none from outside has such a path, because theirs begin with a
/// slash.
enum RequestFault: String, CaseIterable {
    case host, target, longTarget, framing, length, largeHead, unreadable

    /// Header fields that a request may have.
    static let mostFields = 100
    /// Bytes of the longest of them.
    static let longestField = 16_384

    var failure: Failure {
        switch self {
        case .host:
            Failure(
                .malformedRequest,
                "A request needs exactly one Host header, with a name or address and perhaps a port."
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
            Failure(.malformedRequest, "Transfer-Encoding must be chunked; HTTP/1.0 does not have it.")
        case .length: Failure(.malformedRequest, "Content-Length must be one number of digits alone.")
        case .largeHead:
            Failure(
                .malformedRequest,
                "The head is too large: at most \(Self.mostFields) fields, of at most \(Self.longestField) bytes each."
            )
        case .unreadable:
            Failure(
                .malformedRequest,
                "The request cannot be read as HTTP/1.1, or its head is too large. The connection is closed."
            )
        }
    }
}

extension Request {
    /// What is wrong with the request; nil for one that can be answered.
    var fault: RequestFault? { head.path.flatMap { RequestFault(rawValue: $0) } }
}
