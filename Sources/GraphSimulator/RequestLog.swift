import NIOHTTP1

extension GraphSimulator {
    /// A request as the public port received it.
    public struct LoggedRequest: Sendable {
        /// What became of it.
        public enum Outcome: Sendable, Equatable {
            /// No answer yet; a request that hangs stays so until the client leaves.
            case pending
            /// A reply went out completely.
            case answered(status: Int)
            /// A fault ended or stopped the exchange before the reply was complete.
            case interrupted
            /// The client left before the answer.
            case abandoned
        }

        /// Counts up from 1 over all requests.
        public let number: Int
        /// The simulator's clock, Unix seconds.
        public let time: Int
        /// Counts up from 1 over all connections.
        public let connection: Int
        /// `GET`, as on the wire.
        public let method: String
        /// The request target as on the wire.
        public let uri: String
        /// The path without version: `me/permissions`.
        public let path: String
        /// Query and form parameters in their order, decoded.
        public let parameters: [(name: String, value: String)]
        /// The body as on the wire.
        public let body: [UInt8]
        /// Ids of the faults that struck it.
        public internal(set) var faults: [Int] = []
        /// What became of it so far.
        public internal(set) var outcome: Outcome = .pending
        let fields: HTTPHeaders

        /// The header fields as on the wire, in their order.
        public var headers: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

        /// The status answered; `nil` when no complete reply went out.
        public var status: Int? {
            guard case .answered(let status) = outcome else { return nil }
            return status
        }

        /// The last parameter of that name.
        public func parameter(_ name: String) -> String? {
            parameters.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
        }

        /// The first header field of that name, in any spelling of case.
        public func header(_ name: String) -> String? {
            fields.first(name: name)
        }
    }

    /// How much happened on the public port since the start or the last reset.
    public struct Counters: Sendable, Equatable {
        /// Connections accepted.
        public internal(set) var connections = 0
        /// Connections open at this moment; no reset clears it.
        public internal(set) var openConnections = 0
        /// Requests received completely.
        public internal(set) var requests = 0
        /// Requests per endpoint: `debug_token`, `me`, `oauth/access_token`, `app`, `dialog/oauth`,
        /// `.well-known/oauth/openid/jwks`, `1.1/account/verify_credentials.json`, `oauth/request_token`, `other`.
        public internal(set) var requestsByPath: [String: Int] = [:]
        /// Replies per HTTP status.
        public internal(set) var repliesByStatus: [Int: Int] = [:]
    }
}

typealias LoggedRequest = GraphSimulator.LoggedRequest

/// The latest requests, a bounded number of them.
struct RequestLog: Sendable {
    /// The paths that have a counter of their own.
    private static let endpoints = [
        "debug_token", "me", "oauth/access_token", "app", "dialog/oauth", ".well-known/oauth/openid/jwks",
        "1.1/account/verify_credentials.json", "oauth/request_token",
    ]

    let capacity: Int
    private(set) var counters = GraphSimulator.Counters()
    private var lastNumber = 0
    private var lastConnection = 0
    /// The number of the last request before those in the ring.
    private var base = 0
    /// Request number n sits at (n − base − 1) modulo capacity.
    private var ring: [LoggedRequest] = []

    init(capacity: Int) {
        self.capacity = max(capacity, 0)
    }

    /// Oldest first.
    var requests: [LoggedRequest] {
        ring.sorted { $0.number < $1.number }
    }

    mutating func open() -> Int {
        lastConnection += 1
        counters.connections += 1
        counters.openConnections += 1
        return lastConnection
    }

    mutating func close() {
        counters.openConnections -= 1
    }

    /// Counts a request and keeps what `entry` makes of its number.
    mutating func append(path: String, _ entry: (Int) -> LoggedRequest) -> Int {
        lastNumber += 1
        counters.requests += 1
        let known = Self.endpoints.first { $0.utf8.elementsEqual(path.utf8) }
        counters.requestsByPath[known ?? "other", default: 0] += 1
        if ring.count < capacity {
            ring.append(entry(lastNumber))
        } else if capacity > 0 {
            ring[(lastNumber - base - 1) % capacity] = entry(lastNumber)
        }
        return lastNumber
    }

    mutating func finish(_ number: Int, _ outcome: LoggedRequest.Outcome) {
        if case .answered(let status) = outcome { counters.repliesByStatus[status, default: 0] += 1 }
        guard capacity > 0, number > base, number > lastNumber - capacity else { return }
        ring[(number - base - 1) % capacity].outcome = outcome
    }

    mutating func clear() {
        base = lastNumber
        ring = []
        let open = counters.openConnections
        counters = GraphSimulator.Counters()
        counters.openConnections = open
    }
}
