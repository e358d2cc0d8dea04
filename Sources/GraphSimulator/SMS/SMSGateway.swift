import Crypto
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// The public port's `/sms`: what an operator would put in front of a vendor of SMS, and the telephones behind it.
struct SMSGateway: Sendable {
    /// What requests are signed with; without one none is taken.
    private let key: SymmetricKey?
    /// Oldest first.
    var inbox: [SMSMessage] = []

    /// How many messages are kept.
    static let capacity = 1000
    /// Seconds by which a timestamp may be wrong.
    private static let window = 300

    /// Knows requests by a secret that is `whsec_` and base64, as Standard Webhooks writes it.
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

    /// Answers a request to the gateway; nil for all others.
    mutating func answer(_ request: GraphRequest, head: HTTPRequestHead, body: ByteBuffer?, now: Int) -> GraphReply? {
        guard request.path.utf8.elementsEqual("sms".utf8) else { return nil }
        guard head.method == .POST else { return Self.reply(405, "expected POST") }
        let body = body.map { Array($0.readableBytesView) } ?? []
        guard let id = signedID(head.headers, body: body, now: now) else {
            return Self.reply(401, "the signature is wrong, or too old or new")
        }
        do throws(DataError) {
            let message = try SMSMessage(json: JSON(parsing: body), time: now)
            guard message.id.utf8.elementsEqual(id.utf8) else { return Self.reply(400, "id: another than webhook-id") }
            // The same message again, as after an answer that was lost: nobody pays for it twice.
            if !inbox.contains(where: { $0.id == message.id }) {
                inbox = inbox.suffix(Self.capacity - 1) + [message]
            }
            return Self.reply(202, nil)
        } catch {
            return Self.reply(400, error.description)
        }
    }

    /// The `webhook-id` of a request whose signature is good (Standard Webhooks 1.0).
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
        var reply = GraphReply(
            status: status,
            headers: [("Content-Type", "application/json")],
            bytes: json.plainBytes
        )
        reply.isWebsite = true
        return reply
    }
}
