/// An error as Twitter reports it: `{"errors":[{"code":32,"message":"…"}]}`.
struct TwitterError: Error {
    let status: Int
    let code: Int
    let message: String

    private init(_ status: Int, _ code: Int, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    static let notAuthenticated = TwitterError(401, 32, "Could not authenticate you.")
    static let pageMissing = TwitterError(404, 34, "Sorry, that page does not exist.")
    static let accountSuspended = TwitterError(
        403,
        64,
        "Your account is suspended and is not permitted to access this feature."
    )
    static let rateLimited = TwitterError(429, 88, "Rate limit exceeded")
    static let invalidToken = TwitterError(401, 89, "Invalid or expired token.")
    static let overCapacity = TwitterError(503, 130, "Over capacity")
    static let internalError = TwitterError(500, 131, "Internal error")
    static let timestampOutOfBounds = TwitterError(401, 135, "Timestamp out of bounds.")
    static let badAuthentication = TwitterError(400, 215, "Bad Authentication data.")
    static let accountLocked = TwitterError(
        403,
        326,
        """
        To protect our users from spam and other malicious activity, this account is temporarily locked. Please log in to \
        https://twitter.com to unlock your account.
        """
    )
    static let callbackNotApproved = TwitterError(
        403,
        415,
        """
        Callback URL not approved for this client application. Approved callback URLs can be adjusted in your application \
        settings
        """
    )
    static let applicationSuspended = TwitterError(401, 416, "Invalid / suspended application")
    static let accessLevel = TwitterError(
        403,
        453,
        """
        You currently have access to a subset of X API V2 endpoints and limited v1.1 endpoints (e.g. media post, oauth) only. \
        If you need access to this endpoint, you may need a different access level.
        """
    )

    private static let known = [
        notAuthenticated, pageMissing, accountSuspended, rateLimited, invalidToken, overCapacity, internalError,
        timestampOutOfBounds, badAuthentication, accountLocked, callbackNotApproved, applicationSuspended, accessLevel,
    ]

    /// Makes the Twitter error that a simulated fault with the given error causes.
    ///
    /// If the fault gives only an error code, and Twitter uses this code, the status and the message are Twitter's.
    init(fault error: GraphError) {
        if error == GraphError(code: error.code), let known = Self.known.first(where: { $0.code == error.code }) {
            self = known
        } else {
            self.init(error.status, error.code, error.message)
        }
    }

    /// Returns the error response, with the given headers.
    func reply(headers: [(name: String, value: String)] = []) -> GraphReply {
        var reply = GraphReply(["errors": [["code": .integer(code), "message": .string(message)]]], origin: .twitter)
        reply.status = status
        reply.headers = headers
        reply.isError = true
        return reply
    }

    /// Returns the response for an exhausted rate limit.
    ///
    /// `second` is the Unix second at which the rate limit is reset.
    static func limited(resetAt second: Int) -> GraphReply {
        rateLimited.reply(
            headers: [
                ("x-rate-limit-limit", "75"), ("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", String(second)),
            ]
        )
    }
}
