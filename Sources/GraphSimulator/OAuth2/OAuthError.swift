/// An error of an authorization server, in the form of RFC 6749 §5.2: `{"error", "error_description"?}`.
struct OAuthError: Error {
    let code: String
    let description: String?
    let status: Int
    let headers: [(name: String, value: String)]

    init(
        _ code: String,
        _ description: String? = nil,
        status: Int = 400,
        headers: [(name: String, value: String)] = []
    ) {
        self.code = code
        self.description = description
        self.status = status
        self.headers = headers
    }

    var reply: GraphReply {
        var json: JSON = ["error": .string(code)]
        json["error_description"] = description.map { .string($0) }
        return .answer(json, status: status, headers: headers)
    }

    static let invalidGrant = OAuthError("invalid_grant")
    static let unsupportedGrant = OAuthError("unsupported_grant_type")
    static let invalidClient = OAuthError(
        "invalid_client",
        status: 401,
        headers: [("WWW-Authenticate", #"Basic realm="clients""#)]
    )
    /// The client authenticated neither by HTTP Basic nor correctly.
    static let invalidFormClient = OAuthError("invalid_client", status: 401)
    static let noEndpoint = OAuthError("no such endpoint", status: 404)

    static func invalidRequest(_ description: String) -> OAuthError {
        OAuthError("invalid_request", description)
    }
}

extension GraphReply {
    /// Makes a response with JSON of another server than Facebook's and Twitter's.
    static func answer(
        _ json: JSON,
        status: Int = 200,
        headers: [(name: String, value: String)] = []
    ) -> GraphReply {
        var reply = GraphReply(json, origin: .website)
        reply.status = status
        reply.headers = headers
        return reply
    }
}
