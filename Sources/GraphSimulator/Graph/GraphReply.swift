/// What Graph answers, before it is written as HTTP.
struct GraphReply: Sendable {
    enum Body: Sendable {
        /// Graph's own: gets the content type, an `ETag`, and is compressed when asked.
        case json(JSON)
        /// Sent as it is, with the headers given and no others about the content.
        case bytes([UInt8])
    }

    var status: Int
    var body: Body
    /// Headers beyond those that every reply carries.
    var headers: [(name: String, value: String)] = []
    /// Said in `facebook-api-version`.
    var version: GraphVersion?
    /// Said in `x-app-usage`.
    var usage: AppUsage?
    /// It comes from www.facebook.com, which has none of Graph's headers.
    var isWebsite = false
    /// It comes from api.twitter.com: none of Graph's headers, and a fault's error in Twitter's form.
    var isTwitter = false
    /// Errors may not be stored, and carry no `ETag`.
    var isError = false

    init(_ json: JSON) {
        status = 200
        body = .json(json)
    }

    init(status: Int, headers: [(name: String, value: String)], bytes: [UInt8]) {
        self.status = status
        self.headers = headers
        body = .bytes(bytes)
    }

    init(_ error: GraphError, trace: String) {
        status = error.status
        body = .json(error.json(trace: trace))
        isError = true
        if let challenge = error.challenge { headers.append(("WWW-Authenticate", challenge)) }
    }
}
