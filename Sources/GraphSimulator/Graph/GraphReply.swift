import Crypto
import Encodings
import NIOHTTP1

/// A response of the simulator, before it is written as HTTP.
struct GraphReply: Sendable {
    enum Body: Sendable {
        /// A JSON body, with Graph's content type and an `ETag`.
        ///
        /// The body is compressed if the client accepts compression.
        case json(JSON)
        /// A body that is sent unchanged.
        ///
        /// The response has no content headers except those of ``headers``.
        case bytes([UInt8])
    }

    /// The simulated server that sends a response.
    ///
    /// Only responses of Graph have Graph's headers.
    enum Origin: Sendable {
        case graph
        /// The website www.facebook.com, or the SMS gateway.
        case website
        /// The API at api.twitter.com.
        ///
        /// Simulated errors in its responses have Twitter's form.
        case twitter
    }

    var status = 200
    var body: Body
    /// The headers that this response has in addition to those of every response.
    var headers: [(name: String, value: String)] = []
    /// The value of the header `facebook-api-version`.
    var version: GraphVersion?
    /// The value of the header `x-app-usage`.
    var usage: AppUsage?
    var origin = Origin.graph
    /// Whether the response is an error.
    ///
    /// A response with an error has no `ETag`, and its headers forbid clients to store it.
    var isError = false

    init(_ json: JSON, origin: Origin = .graph) {
        body = .json(json)
        self.origin = origin
    }

    init(status: Int, headers: [(name: String, value: String)], bytes: [UInt8] = [], origin: Origin = .graph) {
        self.status = status
        self.headers = headers
        self.origin = origin
        body = .bytes(bytes)
    }

    init(_ error: GraphError, trace: String) {
        status = error.status
        body = .json(error.json(trace: trace))
        isError = true
        if let challenge = error.challenge { headers.append(("WWW-Authenticate", challenge)) }
    }

    var cacheControl: String {
        isError ? "no-store" : "private, no-cache, no-store, must-revalidate"
    }

    /// Returns the bytes of the body, and adds the header `ETag` if the body is JSON and not an error.
    ///
    /// If the client already has a body with this `ETag`, the response becomes a 304 without a body.
    ///
    /// - Parameters:
    ///   - text: The text that replaces a JSON body.
    ///   - headers: The headers of the request.
    /// - Returns: The body, not compressed.
    mutating func render(text: [UInt8]? = nil, for headers: HTTPHeaders) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .json(let json):
            let bytes = text ?? json.graphBytes
            if isError { return bytes }
            let tag = "\"\(Hexadecimal.encode(Insecure.SHA1.hash(data: bytes)))\""
            self.headers.append(("ETag", tag))
            guard headers.first(name: "if-none-match")?.hasSameBytes(as: tag) ?? false else { return bytes }
            status = 304
            return []
        }
    }
}
