extension GraphSimulator {
    /// Something that goes wrong, and when.
    ///
    /// Faults are looked at in the order in which they were added. Delays add up; of the others the first that applies
    /// decides.
    public struct Fault: Sendable {
        /// What happens.
        public var effect: Effect
        /// Only requests to this path, written without version: `debug_token`, `me`.
        ///
        /// It covers what is below it too.
        public var path: String?
        /// Only requests made with a token of this app.
        public var app: String?
        /// Only requests made with this token, or, at `debug_token`, asking about it.
        public var token: String?
        /// Lets this many matching requests pass first.
        public var after: Int
        /// Strikes every n-th matching request.
        public var every: Int
        /// Strikes a matching request with this chance, from 0 to 100.
        public var percent: Double?
        /// Makes ``percent`` repeatable.
        public var seed: UInt64
        /// Ends after having struck this often.
        public var count: Int?

        /// Makes a fault that strikes each request unless limited.
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
    /// What happens.
    public enum Effect: Sendable {
        /// The reply comes this much later.
        case delay(milliseconds: Int)
        /// The exchange stops at that moment, in that manner.
        case interrupt(Moment, Manner)
        /// Graph's error envelope.
        case error(GraphSimulator.GraphError)
        /// The error of an exhausted limit with its headers: 4, 17, 32, 613 or 80000 to 80014 in Graph's own way, or
        /// with status 429.
        case rateLimit(code: Int, usage: GraphSimulator.AppUsage, status: Int?, retryAfter: Int?)
        /// A complete reply in place of Graph's.
        case reply(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// These bytes on the wire, whatever they are, and then the end of the connection.
        case raw([UInt8])
        /// Graph's own reply, damaged.
        case damage(Damage)
        /// Graph's own reply, this many bytes at a time.
        case slow(bytes: Int, milliseconds: Int)
        /// Valid JSON of at least this many bytes, which are sent as fast as they are read.
        case huge(bytes: Int)
        /// A chunked body that never ends.
        case endless
        /// Valid JSON of at least this many bytes, compressed about a thousandfold.
        case gzipBomb(bytes: Int)
    }

    /// A point in the exchange.
    public enum Moment: String, Sendable, CaseIterable {
        /// The connection is accepted; nothing is read. Applies to new connections only and knows no path, app or
        /// token.
        case accept
        /// The first bytes arrive and are left unread. Applies to new connections only, like ``accept``.
        case firstBytes
        /// The request is read completely; nothing is answered.
        case request
        /// The reply's headers are sent, nothing of the body.
        case headers
        /// Half of the body is sent.
        case body
    }

    /// How an exchange stops.
    public enum Manner: String, Sendable, CaseIterable {
        /// Nothing more comes; the connection stays until the client closes it.
        case hang
        /// The connection ends with RST.
        case reset
        /// The connection ends with FIN.
        case close
    }

    /// What can be wrong with the text of a reply that is otherwise Graph's own.
    public enum Damage: Sendable {
        /// The second half of the text is missing, and the length header agrees with that.
        case truncated
        /// Strings became numbers, numbers strings, truth values numbers, lists objects.
        case wrongTypes
        /// `{"data":null}`
        case dataNull
        /// Every member stands twice, the second time with another value.
        case duplicateKeys
        /// `id` and `data.user_id` are missing.
        case idMissing
        /// So many unexpected members come first.
        case extraKeys(Int)
        /// A member nested this deep comes first.
        case deep(Int)
        /// The reply merged with this value as RFC 7396 says: `{"data":{"app_id":"1"}}`.
        case merged(GraphSimulator.JSON)
    }
}

extension GraphSimulator.Fault.Effect {
    /// An HTML page with status 502, as load balancers make them.
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

    /// The whole reply is `false`, as `/me` has been seen to answer.
    public static let bareFalse: Self = .json(false)

    /// Status 302, or another one, to another place.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        .reply(status: status, headers: [("Location", location)], body: [])
    }

    /// Any JSON with any status, in place of Graph's reply.
    public static func json(_ json: GraphSimulator.JSON, status: Int = 200) -> Self {
        .reply(
            status: status,
            headers: [("Content-Type", "application/json; charset=UTF-8")],
            body: json.graphBytes
        )
    }

    /// `/me` answers for somebody else.
    public static func meAnswers(userID: String) -> Self {
        .damage(.merged(["id": .string(userID)]))
    }

    /// `debug_token` says something else: members to replace inside `data`.
    public static func debugTokenSays(_ members: GraphSimulator.JSON) -> Self {
        .damage(.merged(["data": members]))
    }
}

typealias Fault = GraphSimulator.Fault

extension Fault.Effect {
    /// Whether it meets a request before Graph has done anything about it: no code is used up, no permission removed.
    ///
    /// All other faults spoil the reply to something that has happened.
    var comesFirst: Bool {
        switch self {
        case .error, .rateLimit, .reply, .interrupt(.request, _): true
        default: false
        }
    }
}
