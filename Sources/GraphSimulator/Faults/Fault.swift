extension GraphSimulator {
    /// A failure to simulate, with the conditions under which it strikes.
    ///
    /// Faults are examined in the order in which they were added. The delays of all that apply add up. Of other effects
    /// the first that applies decides.
    public struct Fault: Sendable {
        /// The effect of the fault.
        public var effect: Effect
        /// Limits the fault to this path, written without version: `debug_token`, `me`.
        ///
        /// The paths below are included.
        public var path: String?
        /// Limits the fault to requests with a token of this app.
        public var app: String?
        /// Limits the fault to requests with this token, and to `debug_token` requests about this token.
        public var token: String?
        /// The number of matching requests that pass before the first strike.
        public var after: Int
        /// The interval of strikes: every n-th matching request is struck.
        public var every: Int
        /// The chance in percent that a matching request is struck, from 0 to 100.
        public var percent: Double?
        /// The seed that makes ``percent`` repeatable.
        public var seed: UInt64
        /// The number of strikes after which the fault ends.
        public var count: Int?

        /// Makes a fault that strikes every request unless limited.
        public init(
            _ effect: Effect,
            path: String? = nil,
            app: String? = nil,
            token: String? = nil,
            after: Int = 0,
            every: Int = 1,
            percent: Double? = nil,
            seed: UInt64 = 1,
            count: Int? = nil
        ) {
            self.effect = effect
            self.path = path
            self.app = app
            self.token = token
            self.after = after
            self.every = every
            self.percent = percent
            self.seed = seed
            self.count = count
        }
    }
}

extension GraphSimulator.Fault {
    /// The effect of a fault.
    public enum Effect: Sendable {
        /// The response comes this much later.
        case delay(milliseconds: Int)
        /// The exchange stops at that moment, in that manner.
        case interrupt(Moment, Manner)
        /// An error in Graph's error envelope.
        case error(GraphSimulator.GraphError)
        /// The error of an exhausted rate limit with its headers, in Graph's own form or with status 429.
        ///
        /// The code is 4, 17, 32, 613, or 80000 to 80014.
        case rateLimit(code: Int, usage: GraphSimulator.AppUsage, status: Int?, retryAfter: Int?)
        /// A complete response in place of Graph's.
        case reply(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// Arbitrary bytes on the wire, and then the end of the connection.
        case raw([UInt8])
        /// Graph's own response, damaged.
        case damage(Damage)
        /// Graph's own response, sent this many bytes at a time.
        case slow(bytes: Int, milliseconds: Int)
        /// Valid JSON of at least this many bytes, sent as fast as the client reads.
        case huge(bytes: Int)
        /// A chunked body that never ends.
        case endless
        /// Valid JSON of at least this many bytes, compressed about a thousandfold.
        case gzipBomb(bytes: Int)
    }

    /// A point in the exchange.
    public enum Moment: String, Sendable, CaseIterable {
        /// The connection is accepted; nothing is read.
        ///
        /// Applies to new connections only, and cannot be limited to a path, app or token.
        case accept
        /// The first bytes arrive and stay unread; applies to new connections only, like ``accept``.
        case firstBytes
        /// The request is read completely; nothing is sent.
        case request
        /// The response's headers are sent, nothing of the body.
        case headers
        /// Half of the body is sent.
        case body
    }

    /// How an exchange stops.
    public enum Manner: String, Sendable, CaseIterable {
        /// Nothing more is sent; the connection stays open until the client closes it.
        case hang
        /// The connection ends with RST.
        case reset
        /// The connection ends with FIN.
        case close
    }

    /// A damage to the text of a response that is otherwise Graph's own.
    public enum Damage: Sendable {
        /// The second half of the text is missing; the length header matches the rest.
        case truncated
        /// Strings become numbers, numbers strings, booleans numbers, arrays objects.
        case wrongTypes
        /// `{"data":null}`
        case dataNull
        /// Every member appears twice, the second time with another value.
        case duplicateKeys
        /// `id` and `data.user_id` are missing.
        case idMissing
        /// This many unexpected members come first.
        case extraKeys(Int)
        /// A member nested this deep comes first.
        case deep(Int)
        /// The response is merged with this value as RFC 7396 says: `{"data":{"app_id":"1"}}`.
        case merged(GraphSimulator.JSON)
    }
}

extension GraphSimulator.Fault.Effect {
    /// An HTML page with status 502, as load balancers send.
    public static let html502: Self = .reply(
        status: 502,
        headers: [("Content-Type", "text/html; charset=utf-8")],
        body: Array("<!DOCTYPE html><html><head><title>Error</title></head><body>Bad gateway</body></html>\n".utf8)
    )

    /// Status 200 and no body.
    public static let empty: Self = .reply(
        status: 200,
        headers: [("Content-Type", "application/json; charset=UTF-8")],
        body: []
    )

    /// The whole response is `false`, as `/me` has been seen to answer.
    public static let bareFalse: Self = .json(false)

    /// Returns a redirect to another address, with status 302 unless given.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        .reply(status: status, headers: [("Location", location)], body: [])
    }

    /// Returns JSON with any status, in place of Graph's response.
    public static func json(_ json: GraphSimulator.JSON, status: Int = 200) -> Self {
        .reply(
            status: status,
            headers: [("Content-Type", "application/json; charset=UTF-8")],
            body: json.graphBytes
        )
    }

    /// Makes `/me` answer with another user's id.
    public static func meAnswers(userID: String) -> Self {
        .damage(.merged(["id": .string(userID)]))
    }

    /// Replaces members inside `data` of the response of `debug_token`.
    public static func debugTokenSays(_ members: GraphSimulator.JSON) -> Self {
        .damage(.merged(["data": members]))
    }
}

typealias Fault = GraphSimulator.Fault

extension Fault.Effect {
    /// Whether the fault strikes before Graph acts on the request: no code is used up, no permission removed.
    ///
    /// All other faults damage the response to a request that has taken effect.
    var comesFirst: Bool {
        switch self {
        case .error, .rateLimit, .reply, .interrupt(.request, _): true
        default: false
        }
    }
}
