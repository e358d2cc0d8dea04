extension GraphSimulator {
    /// A failure that the simulator simulates, with the conditions that decide which requests the failure strikes.
    ///
    /// For each request, the simulator examines the faults in the order in which they were added, up to the first fault
    /// that strikes and is not a delay. The delays before that fault are added up.
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
        /// The number of matching requests that pass unharmed before the fault strikes for the first time.
        public var after: Int
        /// Limits the fault to every n-th of the matching requests.
        ///
        /// The first ``after`` matching requests do not count.
        public var every: Int
        /// The chance in percent that a matching request is struck, from 0 to 100.
        public var percent: Double?
        /// The seed of the random numbers by which ``percent`` is applied.
        ///
        /// The same seed strikes the same requests.
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
        /// A complete response that replaces Graph's.
        case reply(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// Arbitrary bytes on the wire, followed by the end of the connection.
        case raw([UInt8])
        /// The response that Graph would return without the fault, with damage to its JSON text.
        case damage(Damage)
        /// The response that Graph would return without the fault, sent this many bytes at a time.
        ///
        /// The simulator waits for this many milliseconds between two parts.
        case slow(bytes: Int, milliseconds: Int)
        /// Valid JSON of at least this many bytes, sent as fast as the client reads.
        case huge(bytes: Int)
        /// A chunked body that never ends.
        case endless
        /// Valid JSON of at least this many bytes, compressed about a thousandfold.
        case gzipBomb(bytes: Int)
    }

    /// The point of an HTTP exchange at which a fault interrupts the exchange.
    public enum Moment: String, Sendable, CaseIterable {
        /// The simulator has accepted the connection, and reads nothing.
        ///
        /// This applies only to new connections. It cannot be limited to a path, an app or a token.
        case accept
        /// The first bytes of the client have arrived, and the simulator reads no request.
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
        /// The second half of the text is missing.
        ///
        /// `Content-Length` is that of the first half.
        case truncated
        /// Strings become numbers, numbers become strings, booleans become numbers, and arrays become objects.
        case wrongTypes
        /// The whole response is `{"data":null}`.
        case dataNull
        /// Every member appears twice, the second time with another value.
        case duplicateKeys
        /// `id` and `data.user_id` are missing.
        case idMissing
        /// This many unexpected members precede the others: inside `data` if the response has such an object, or else
        /// in the response.
        case extraKeys(Int)
        /// The response begins with a member whose arrays are nested to this depth.
        case deep(Int)
        /// This value is merged into the response as in RFC 7396, such as `{"data":{"app_id":"1"}}`.
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

    /// Makes the effect that the response is a redirect to the given URL.
    ///
    /// The default status is 302.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        .reply(status: status, headers: [("Location", location)], body: [])
    }

    /// Makes the effect that the response is the given JSON with any status, in place of Graph's response.
    public static func json(_ json: GraphSimulator.JSON, status: Int = 200) -> Self {
        .reply(
            status: status,
            headers: [("Content-Type", "application/json; charset=UTF-8")],
            body: json.graphBytes
        )
    }

    /// Makes the effect that a response has another id, as if `/me` returned another user.
    ///
    /// To strike only requests to `/me`, limit the fault to the path `me`.
    public static func meAnswers(userID: String) -> Self {
        .damage(.merged(["id": .string(userID)]))
    }

    /// Makes the effect that members inside the response's object `data` have other values.
    ///
    /// The responses of `debug_token` have this object. To strike only these, limit the fault to the path
    /// `debug_token`.
    public static func debugTokenSays(_ members: GraphSimulator.JSON) -> Self {
        .damage(.merged(["data": members]))
    }
}

typealias Fault = GraphSimulator.Fault

extension Fault.Effect {
    /// Whether the fault prevents the request from taking effect.
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
