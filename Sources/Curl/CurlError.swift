/// The reason why a call has no response.
///
/// No value contains a query, a header, a body, or text from a server.
package enum CurlError: Error, Equatable, Sendable {
    /// The request breaks a rule of this client; nothing was sent.
    case invalidRequest(InvalidRequest)
    /// The host name has no address, or its resolution failed.
    case resolve
    /// The connection failed: refused, unreachable, closed. `errno` is the system's error number, or 0.
    case connect(errno: Int32)
    /// The server could not be authenticated, or the handshake failed; no byte of the request was sent.
    case tls(TLSFailure)
    /// The time limit for connecting, or for the whole call, has passed.
    case timeout(TimeoutPhase)
    /// The connection broke, or the framing of the response was invalid. libcurl does not tell which.
    ///
    /// If `requestSent` is true, the server may have acted on the request. If it is false, the server has not.
    case reset(requestSent: Bool)
    /// The headers of the response, or its decoded body, exceed the maximum size.
    case replyTooLarge
    /// The response is not HTTP, or its content encoding is invalid.
    case badReply
    /// The maximum number of calls is already in flight; nothing was sent.
    case overloaded
    /// The calling task was cancelled.
    case cancelled
    /// The client was shut down.
    case shutDown
    /// Any other failure of libcurl, with its `CURLcode`.
    case library(code: UInt32)

    /// The phase of a call when its deadline passed.
    package enum TimeoutPhase: Sendable {
        /// The client was resolving the name, connecting, in the TLS handshake, or waiting for a connection. The
        /// request was not sent.
        case connecting
        /// The client waited for the response. The request, or a part of it, was sent.
        case waiting
    }

    /// The rule that a request violates.
    package enum InvalidRequest: Sendable {
        case malformedURL
        case urlTooLong
        case urlCharacter
        case schemeNotAllowed
        case userInformationInURL
        case fragmentInURL
        case plainHTTPBeyondLoopback
        case addressNotPublic
        case headerName
        case headerValue
        case headersTooLarge
        case bodyNotAllowed
        case mailAddress
        /// The content of a mail does not end with CRLF, or has a NUL or a bare CR or LF. Only some servers take a bare
        /// CR or LF for a line end.
        case mailContent
        case limitNotPositive
    }

    /// The problem with the server's certificate or the handshake.
    package enum TLSFailure: Sendable {
        case certificateExpired
        case certificateNotYetValid
        case certificateSelfSigned
        case certificateIssuerUnknown
        case certificateOfAnotherHost
        case certificateInvalid
        case handshake
        /// The client's own file of trusted certificate authorities cannot be read, so the fault is not the server's.
        case authorityFileUnreadable
    }
}

extension CurlError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidRequest(let reason): "invalid request: \(reason)"
        case .resolve: "host name could not be resolved"
        case .connect(let errno): "could not connect (errno \(errno))"
        case .tls(let failure): "TLS failed: \(failure)"
        case .timeout(.connecting): "timed out before the request was sent"
        case .timeout(.waiting): "timed out waiting for the reply"
        case .reset(requestSent: false): "connection broke before the request was sent"
        case .reset(requestSent: true): "connection broke after the request was sent"
        case .replyTooLarge: "reply too large"
        case .badReply: "reply is not well-formed HTTP"
        case .overloaded: "too many calls in flight"
        case .cancelled: "cancelled"
        case .shutDown: "client is shut down"
        case .library(let code): "libcurl error \(code)"
        }
    }
}
