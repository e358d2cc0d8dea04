extension GraphSimulator {
    /// A simulated failure, with the conditions that decide which requests it strikes.
    ///
    /// For each request, the simulator examines the faults in the order in which they were added. It stops at the first
    /// fault that strikes the request, unless this fault is a delay. The delays before that fault are added up.
    public struct Fault: Sendable {
        /// The effect of the fault.
        public var effect: Effect
        /// Limits the fault to this path and the paths below it.
        ///
        /// The path is written without version: `debug_token`, `me`.
        public var path: String?
        /// Limits the fault to requests with a token of this app.
        public var app: String?
        /// Limits the fault to requests with this token, and to `debug_token` requests about this token.
        public var token: String?
        /// The number of matching requests that pass before the fault can strike.
        public var after: Int
        /// Limits the fault to every n-th matching request.
        ///
        /// The requests that ``after`` lets pass are not counted.
        public var every: Int
        /// The probability in percent, from 0 to 100, with which the fault strikes a matching request; `nil` for
        /// always.
        public var percent: Double?
        /// The seed of the random numbers that decide by ``percent`` which requests are struck.
        ///
        /// With the same seed, the fault strikes the same requests.
        public var seed: UInt64
        /// The number of strikes after which the fault has no further effect; `nil` if it strikes without limit.
        public var count: Int?

        /// Makes a fault.
        ///
        /// By default, the fault strikes every request.
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
        /// The simulator sends the response after a delay of this many milliseconds.
        case delay(milliseconds: Int)
        /// The exchange of request and response stops at the given moment and in the given manner.
        case interrupt(Moment, Manner)
        /// The simulator returns this error, in the form in which the Graph API returns errors.
        case error(GraphSimulator.GraphError)
        /// The simulator returns the error for an exhausted rate limit, with the headers that belong to this error.
        ///
        /// The status is 400, as from Graph, unless another one such as 429 is given. The code is 4, 17, 32, 613, or
        /// one from 80000 to 80014.
        case rateLimit(code: Int, usage: GraphSimulator.AppUsage, status: Int?, retryAfter: Int?)
        /// The simulator sends this complete response in place of Graph's.
        case reply(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// The simulator sends these bytes in place of an HTTP response, and closes the connection.
        case raw([UInt8])
        /// The response that Graph would return without the fault, with damage to its JSON text.
        case damage(Damage)
        /// The response that Graph would return without the fault, sent this many bytes at a time.
        ///
        /// The simulator waits for this many milliseconds between two parts.
        case slow(bytes: Int, milliseconds: Int)
        /// Valid JSON of at least this many bytes, sent as fast as the client reads.
        case huge(bytes: Int)
        /// A response with a chunked body that never ends.
        case endless
        /// A compressed response, which is decompressed to valid JSON of at least this many bytes.
        ///
        /// The compressed body is about a thousandth of this size.
        case gzipBomb(bytes: Int)
    }

    /// The moment of an HTTP exchange at which a fault interrupts the exchange.
    public enum Moment: String, Sendable, CaseIterable {
        /// The simulator has accepted the connection, and reads nothing.
        ///
        /// This applies only to new connections. It cannot be limited to a path, an app or a token.
        case accept
        /// The client has sent its first bytes, and the simulator reads no request from them.
        ///
        /// Like ``accept``, this applies only to new connections.
        case firstBytes
        /// The simulator has read the whole request, and sends nothing.
        case request
        /// The simulator has sent the headers of the response, and nothing of its body.
        case headers
        /// The simulator has sent the headers of the response and half of its body.
        case body
    }

    /// How an exchange of request and response stops.
    public enum Manner: String, Sendable, CaseIterable {
        /// Nothing more is sent.
        ///
        /// The connection stays open until the client closes it.
        case hang
        /// The connection ends with RST.
        case reset
        /// The connection ends with FIN.
        case close
    }

    /// The ways in which the JSON text of a response can be damaged.
    public enum Damage: Sendable {
        /// The response contains only the first half of the text.
        ///
        /// `Content-Length` is the length of this half.
        case truncated
        /// Strings become numbers, numbers become strings, booleans become numbers, and arrays become objects.
        case wrongTypes
        /// The whole response is `{"data":null}`.
        case dataNull
        /// Every member appears twice; the second value differs from the first one, except for `null` and objects.
        case duplicateKeys
        /// `id` and `data.user_id` are missing.
        case idMissing
        /// The response has this many unexpected members, before the others.
        ///
        /// They are inside the object `data` if the response has one.
        case extraKeys(Int)
        /// The response begins with a member whose arrays are nested to this depth.
        case deep(Int)
        /// The response is changed by this JSON merge patch (RFC 7396), such as `{"data":{"app_id":"1"}}`.
        case merged(GraphSimulator.JSON)
    }
}

extension GraphSimulator.Fault.Effect {
    /// An HTML page with status 502.
    ///
    /// Load balancers send such pages.
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

    /// The whole response is `false`.
    ///
    /// Facebook's `/me` has been seen to return this.
    public static let bareFalse: Self = .json(false)

    /// Makes an effect: the simulator redirects the client to the given URL, by default with status 302.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        .reply(status: status, headers: [("Location", location)], body: [])
    }

    /// Makes an effect: the simulator returns the given JSON and status in place of Graph's response.
    public static func json(_ json: GraphSimulator.JSON, status: Int = 200) -> Self {
        .reply(
            status: status,
            headers: [("Content-Type", "application/json; charset=UTF-8")],
            body: json.graphBytes
        )
    }

    /// Makes an effect: the member `id` of a response is replaced, as if `/me` returned another user.
    ///
    /// To strike only requests to `/me`, limit the fault to the path `me`.
    public static func meAnswers(userID: String) -> Self {
        .damage(.merged(["id": .string(userID)]))
    }

    /// Makes an effect: the given members are merged into the response's object `data`.
    ///
    /// `debug_token` returns this object. To strike only requests to `debug_token`, limit the fault to this path.
    public static func debugTokenSays(_ members: GraphSimulator.JSON) -> Self {
        .damage(.merged(["data": members]))
    }
}

typealias Fault = GraphSimulator.Fault

extension Fault.Effect {
    /// Whether the fault strikes before the request takes effect.
    ///
    /// With such a fault, an authorization code stays unused, and a permission that the request would remove stays
    /// granted. All other faults change or interrupt the response to a request that has taken effect.
    var comesFirst: Bool {
        switch self {
        case .error, .rateLimit, .reply, .interrupt(.request, _): true
        default: false
        }
    }
}
