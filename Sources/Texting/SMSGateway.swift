package import Curl
package import Vocabulary

/// The operator's gateway, which hands a message on to a vendor.
///
/// It gets one POST for each message, signed, with `{"id", "application", "to", "text", "code" | "link", "language"}`.
package struct SMSGateway: Sendable {
    private let url: HTTPURL
    private let secret: SigningSecret
    private let client: CurlClient
    private let limits: SMSLimits
    private let clock: WallClock

    /// Most bytes of a reply; nothing of it is read but the status.
    private static let maxReplyBytes = 65_536

    /// Makes a gateway; nothing is sent.
    ///
    /// - Parameters:
    ///   - url: Where it is.
    ///   - secret: What it knows our requests by.
    ///   - client: Who calls it.
    ///   - limits: How long it may take.
    ///   - clock: The time that a request was sent.
    package init(url: HTTPURL, secret: SigningSecret, client: CurlClient, limits: SMSLimits, clock: WallClock) {
        self.url = url
        self.secret = secret
        self.client = client
        self.limits = limits
        self.clock = clock
    }

    /// Hands a message over, once: each SMS costs money, and who waits for a code asks for another.
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
    /// Scheme, host and port.
    package var description: String { "\(url)" }
}

/// How long a gateway may take.
package struct SMSLimits: Sendable {
    /// For a message in all.
    package var call: Duration
    /// To the end of the handshake.
    package var connect: Duration

    package init(call: Duration, connect: Duration) {
        self.call = call
        self.connect = connect
    }
}

/// What became of a message; `problem` is for logs, and holds no word of the gateway's.
package enum SMSOutcome: Sendable, Equatable {
    /// The gateway has taken it.
    case taken
    /// The gateway will never take this message.
    case refused(problem: String)
    /// The gateway has not said that it took it; it may have, all the same.
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
