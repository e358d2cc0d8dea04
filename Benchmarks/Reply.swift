import Foundation

/// The fields of the service's responses that the benchmarks read.
struct Reply: Decodable {
    struct Details: Decodable {
        let pending: String?
    }

    let objectId: String?
    let token: String?
    let id: String?
    let otpauth: String?
    let errorData: Details?

    private enum CodingKeys: String, CodingKey {
        case objectId, id, otpauth, errorData
        case token = "user-token"
    }

    /// Sends a request whose response must have that status.
    static func of(_ request: [UInt8], at connection: Connection, status: Int) async throws -> Reply {
        let reply = try connection.reply(to: request)
        guard reply.status == status else {
            throw WrongReplies(name: "the service", replies: [reply.status: 1], output: reply.body)
        }
        return try JSONDecoder().decode(Reply.self, from: Data(reply.body.utf8))
    }
}

/// An error for a response that lacks an expected field.
struct UnexpectedReply: Error {
    let number: Int
}
