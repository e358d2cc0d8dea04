/// Why a call has no reply.
///
/// No value of it carries a query, a header or a body, nor any text that a server sent.
package enum CurlError: Error, Equatable, Sendable {
    /// The request breaks a rule of this client; nothing was sent.
    case invalidRequest(InvalidRequest)
    /// The host name has no address, or asking for one failed.
    case resolve
    /// No connection came about: refused, unreachable, closed. `errno` is the system's number, 0 when there is none.
    case connect(errno: Int32)
    /// The server could not be authenticated, or the handshake failed; no byte of the request was sent.
    case tls(TLSFailure)
    /// The connect limit or the deadline of the call passed.
    case timeout(TimeoutPhase)
    /// The connection broke, or the framing of the reply did, which libcurl does not tell apart.
    ///
    /// With `requestSent` the server may have acted on the request; without it, it cannot have.
    case reset(requestSent: Bool)
    /// The head of the reply, or its decoded body, is larger than allowed.
    case replyTooLarge
    /// The reply is not HTTP, or its content encoding is broken.
    case badReply
    /// As many calls are in flight as the configuration allows; nothing was sent.
    case overloaded
    /// The calling task was cancelled.
    case cancelled
    /// The client was shut down.
    case shutDown
    /// Any other failure of libcurl, as its `CURLcode`.
    case library(code: UInt32)

    /// How far a call had come when its time was up.
    package enum TimeoutPhase: Sendable {
        /// Resolving, connecting, shaking hands, or waiting for a connection; the request was not sent.
        case connecting
        /// The request, or a part of it, was sent.
        case waiting
    }

    /// The rule that a request breaks.
    package enum InvalidRequest: Sendable {
        case malformedURL
        case urlTooLong
        case urlCharacter
        case schemeNotAllowed
        case userInformationInURL
        case fragmentInURL
        case plainHTTPBeyondLoopback
        case headerName
        case headerValue
        case headersTooLarge
        case bodyNotAllowed
        case mailAddress
        /// A mail is empty, or has a CR or LF of its own, which servers take for different ends of a line.
        case mailContent
        case limitNotPositive
    }

    /// What is wrong with the server's certificate or its handshake.
    package enum TLSFailure: Sendable {
        case certificateExpired
        case certificateNotYetValid
        case certificateSelfSigned
        case certificateIssuerUnknown
        case certificateOfAnotherHost
        case certificateInvalid
        case handshake
        /// The file of trusted authorities cannot be read; a fault of our own set-up.
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
