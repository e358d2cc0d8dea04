import Crypto
import Encodings
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// A simulated SMS gateway, which the simulator serves at the path `/sms`, and the messages that it has accepted.
struct SMSGateway: Sendable {
    /// The HMAC key with which the service signs its requests to the gateway.
    ///
    /// Without a key, the gateway refuses every request.
    private let key: SymmetricKey?
    /// The accepted messages, oldest first.
    var inbox: [SMSMessage] = []

    /// The maximum number of kept messages.
    static let capacity = 1000
    /// The number of seconds by which a request's timestamp may differ from the current time.
    private static let window = 300

    /// Makes a gateway that accepts only requests signed with the given secret.
    ///
    /// The secret is `whsec_` followed by base64, as in Standard Webhooks. A gateway without a secret refuses every
    /// request.
    init(secret: String?) throws(DataError) {
        guard let secret else {
            key = nil
            return
        }
        guard secret.utf8.starts(with: "whsec_".utf8), let bytes = Data(base64Encoded: String(secret.dropFirst(6))),
            (24...64).contains(bytes.count)
        else { throw DataError(path: "sms.secret", reason: "expected whsec_ and the base64 of 24 to 64 bytes") }
        key = SymmetricKey(data: bytes)
    }

    /// Returns the gateway's response to a request; `nil` if the request is not for the gateway's path.
    mutating func answer(_ request: GraphRequest, now: Int) -> GraphReply? {
        guard request.path.hasSameBytes(as: "sms") else { return nil }
        guard request.head.method == .POST else { return Self.reply(405, "expected POST") }
        let body = Array(request.body ?? ByteBufferView())
        guard let id = signedID(request.head.headers, body: body, now: now) else {
            return Self.reply(401, "the signature is wrong, or too old or new")
        }
        do throws(DataError) {
            let message = try SMSMessage(json: JSON(parsing: body), time: now)
            guard message.id.hasSameBytes(as: id) else { return Self.reply(400, "id: another than webhook-id") }
            // A message that is sent again, as after a lost response, is not stored again. No operator pays for a
            // message twice.
            if !inbox.contains(where: { $0.id == message.id }) { inbox = inbox.suffix(Self.capacity - 1) + [message] }
            return Self.reply(202, nil)
        } catch {
            return Self.reply(400, error.description)
        }
    }

    /// Returns the `webhook-id` of a request whose signature is valid (Standard Webhooks 1.0); otherwise `nil`.
    private func signedID(_ headers: HTTPHeaders, body: [UInt8], now: Int) -> String? {
        guard let key, let id = headers.first(name: "webhook-id"), !id.isEmpty, !id.utf8.contains(UInt8(ascii: ".")),
            let timestamp = headers.first(name: "webhook-timestamp"), let second = Int(timestamp),
            (now - Self.window...now + Self.window).contains(second),
            let signatures = headers.first(name: "webhook-signature")
        else { return nil }
        let signed = Array("\(id).\(timestamp).".utf8) + body
        let isGood = signatures.split(separator: " ").contains { signature in
            guard signature.utf8.starts(with: "v1,".utf8),
                let code = Data(base64Encoded: String(signature.dropFirst(3)))
            else { return false }
            return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key)
        }
        return isGood ? id : nil
    }

    private static func reply(_ status: Int, _ error: String?) -> GraphReply {
        let json: JSON = error.map { ["error": .string($0)] } ?? ["ok": true]
        return GraphReply(
            status: status,
            headers: [("Content-Type", "application/json")],
            bytes: Array(json.plainText.utf8),
            origin: .website
        )
    }
}

extension GraphSimulator {
    /// A message that the SMS gateway accepted.
    public struct SMSMessage: Sendable, Equatable {
        /// The unique id of the message.
        public var id: String
        /// The application that sent the message.
        public var application: String
        /// The telephone number: `+` and digits.
        public var to: String
        /// The text that the telephone shows.
        public var text: String
        /// The one-time code that the text contains; `nil` for a message with a link.
        public var code: String?
        /// The URL that the text contains; `nil` for a message with a code.
        public var link: String?
        /// The code of the text's language, such as `en`; `nil` if the sender did not name the language.
        public var language: String?
        /// The simulated time of arrival in Unix seconds.
        public var time: Int
    }
}

typealias SMSMessage = GraphSimulator.SMSMessage

extension SMSMessage {
    /// Reads a message from the JSON body of a request.
    ///
    /// - Throws: ``DataError`` for a missing, wrong or unknown member.
    init(json: JSON, time: Int) throws(DataError) {
        var reader = try JSONReader(json)
        self.init(
            id: try reader.requiredString("id"),
            application: try reader.requiredString("application"),
            to: try reader.requiredString("to"),
            text: try reader.requiredString("text"),
            code: try reader.string("code"),
            link: try reader.string("link"),
            language: try reader.string("language"),
            time: time
        )
        try reader.finish()
        guard (code == nil) != (link == nil) else { throw reader.failure("code", "expected a code or a link") }
        let digits = to.utf8.dropFirst()
        guard to.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            digits.first != UInt8(ascii: "0")
        else { throw reader.failure("to", "expected + and 7 to 15 digits") }
    }

    var json: JSON {
        [
            "id": .string(id), "application": .string(application), "to": .string(to), "text": .string(text),
            "code": code.map { .string($0) } ?? nil, "link": link.map { .string($0) } ?? nil,
            "language": language.map { .string($0) } ?? nil, "time": .integer(time),
        ]
    }
}
