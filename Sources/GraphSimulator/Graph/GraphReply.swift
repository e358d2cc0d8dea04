import Crypto
import NIOHTTP1

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
    /// It comes from www.facebook.com or the SMS gateway, which have none of Graph's headers.
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

    /// The value of `Cache-Control`.
    var cacheControl: String {
        isError ? "no-store" : "private, no-cache, no-store, must-revalidate"
    }

    /// The bytes of the body.
    ///
    /// What is Graph's own gets its `ETag`, and becomes a 304 without a body for who has that already.
    /// - Parameters:
    ///   - text: What to send in place of the text of a JSON body.
    ///   - headers: Those of the request.
    /// - Returns: The body, not compressed.
    mutating func render(text: [UInt8]? = nil, for headers: HTTPHeaders) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .json(let json):
            let bytes = text ?? json.graphBytes
            if isError { return bytes }
            let tag = "\"\(Hexadecimal.encode(Insecure.SHA1.hash(data: bytes)))\""
            self.headers.append(("ETag", tag))
            guard let known = headers.first(name: "if-none-match"), known.utf8.elementsEqual(tag.utf8) else {
                return bytes
            }
            status = 304
            return []
        }
    }
}
