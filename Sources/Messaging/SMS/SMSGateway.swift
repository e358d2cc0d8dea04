package import Curl
package import Domain
import Encodings

/// A client of the operator's SMS gateway, which passes messages to an SMS vendor.
///
/// The service sends one signed POST request for each message. The members of its JSON body are `id`, `application`,
/// `to`, `text`, `language`, and either `code` or `link`.
package struct SMSGateway: Sendable {
    private let url: HTTPURL
    private let secret: SigningSecret
    private let client: CurlClient
    private let limits: SMSLimits
    private let clock: WallClock

    /// The maximum number of bytes in a response.
    ///
    /// Only the status of the response is read.
    private static let maxReplyBytes = 65_536

    /// Stores the configuration of a gateway, and sends no request.
    ///
    /// - Parameters:
    ///   - url: The address of the gateway.
    ///   - secret: The secret that signs requests.
    ///   - client: The HTTP client.
    ///   - limits: The timeouts.
    ///   - clock: The clock for the time in a request's signature.
    package init(url: HTTPURL, secret: SigningSecret, client: CurlClient, limits: SMSLimits, clock: WallClock) {
        self.url = url
        self.secret = secret
        self.client = client
        self.limits = limits
        self.clock = clock
    }

    /// Sends a message, with a single attempt.
    ///
    /// There is no retry, since each SMS costs money, and the user can request another code.
    package func send(_ message: TextMessage) async -> SMSOutcome {
        let body = Self.body(of: message)
        let (id, now) = (message.id.description, clock.seconds)
        do throws(CurlError) {
            let request = try HTTPRequest(
                method: .post,
                url: url,
                headers: [
                    ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", String(now)),
                    ("webhook-signature", secret.signature(id: id, timestamp: now, body: body)),
                ],
                body: body,
                timeout: limits.call,
                connectTimeout: limits.connect,
                maxReplyBytes: Self.maxReplyBytes,
                reusesConnection: false
            )
            return SMSOutcome(status: try await client.send(request).status)
        } catch {
            return .unreachable(problem: "the SMS gateway gave no answer: \(error)")
        }
    }

    private static func body(of message: TextMessage) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", message.id.description)
            object.member("application", message.application.text)
            object.member("to", message.recipient.text)
            object.member("text", message.text.reveal())
            switch message.content {
            case .code(let code): object.member("code", code.reveal())
            case .link(let link): object.member("link", link.reveal())
            }
            object.member("language", message.language)
        }
        return writer.bytes
    }
}

extension SMSGateway: CustomStringConvertible {
    /// The URL of the gateway, with scheme, host and port alone.
    package var description: String { "\(url)" }
}

/// The timeouts of requests to an SMS gateway.
package struct SMSLimits: Sendable {
    /// The timeout of a whole request, from the connection to the end of the response.
    package var call: Duration
    /// The timeout for opening a connection, including the TLS handshake.
    package var connect: Duration

    package init(call: Duration, connect: Duration) {
        self.call = call
        self.connect = connect
    }
}

/// The outcome of sending a message.
///
/// `problem` is for logs, and contains no words of the gateway.
package enum SMSOutcome: Sendable, Equatable {
    /// The gateway has accepted the message.
    case taken
    /// The gateway will never accept this message.
    case refused(problem: String)
    /// The gateway has not confirmed the message.
    ///
    /// It may have accepted the message.
    case unreachable(problem: String)

    fileprivate init(status: Int) {
        self =
            switch status {
            case 200..<300: .taken
            case 408, 425, 429: .unreachable(problem: "the SMS gateway answered \(status)")
            case 400..<500: .refused(problem: "the SMS gateway answered \(status)")
            default: .unreachable(problem: "the SMS gateway answered \(status)")
            }
    }
}
