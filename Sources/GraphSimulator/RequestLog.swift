import NIOHTTP1

extension GraphSimulator {
    /// A request to one of the simulated APIs, as the simulator received it.
    public struct LoggedRequest: Sendable {
        /// The outcome of a request.
        public enum Outcome: Sendable, Equatable {
            /// There is no response yet.
            ///
            /// A request that hangs stays pending until the client disconnects.
            case pending
            /// A response was sent completely.
            case answered(status: Int)
            /// A fault interrupted the exchange before the response was complete.
            case interrupted
            /// The client disconnected before the response.
            case abandoned
        }

        /// The number of the request, counted from 1.
        public let number: Int
        /// The simulated time at which the request arrived, in Unix seconds.
        public let time: Int
        /// The number of the connection on which the request arrived, counted from 1.
        public let connection: Int
        /// The method as on the wire, such as `GET`.
        public var method: String { request.head.method.rawValue }
        /// The request target as on the wire.
        public var uri: String { request.head.uri }
        /// The path without version: `me/permissions`.
        public var path: String { request.path }
        /// Query and form parameters in their order, decoded.
        public var parameters: [(name: String, value: String)] { request.parameters }
        /// The headers as on the wire, in their order.
        public var headers: [(name: String, value: String)] { request.head.headers.map { ($0.name, $0.value) } }
        /// The body as on the wire.
        public var body: [UInt8] { request.body.map { Array($0) } ?? [] }
        /// The ids of the faults that struck the request.
        public let faults: [Int]
        /// The outcome so far.
        public fileprivate(set) var outcome = Outcome.pending
        let request: GraphRequest

        /// The status of the response; `nil` if no complete response was sent.
        public var status: Int? {
            guard case .answered(let status) = outcome else { return nil }
            return status
        }

        /// Returns the last parameter with that name.
        public func parameter(_ name: String) -> String? {
            request.parameter(name)
        }

        /// Returns the first header with that name, in any case.
        public func header(_ name: String) -> String? {
            request.head.headers.first(name: name)
        }
    }

    /// The numbers of connections, requests and responses since the counters were last set to zero.
    ///
    /// The counters begin at zero when the simulator starts.
    public struct Counters: Sendable, Equatable {
        /// The number of connections accepted.
        public internal(set) var connections = 0
        /// The number of connections that are open now.
        ///
        /// This number stays the same when the other counters are set to zero.
        public internal(set) var openConnections = 0
        /// The number of requests received completely.
        public internal(set) var requests = 0
        /// The number of requests for each endpoint.
        ///
        /// The endpoints are `debug_token`, `me`, `oauth/access_token`, `app`, `dialog/oauth`,
        /// `.well-known/oauth/openid/jwks`, `1.1/account/verify_credentials.json`, `oauth/request_token` and `other`.
        public internal(set) var requestsByPath: [String: Int] = [:]
        /// The number of responses per HTTP status.
        public internal(set) var repliesByStatus: [Int: Int] = [:]
    }
}

typealias LoggedRequest = GraphSimulator.LoggedRequest

/// The latest requests, as many as the capacity allows, and the counters of all requests.
struct RequestLog: Sendable {
    /// The paths whose requests are counted separately; requests to all other paths are counted together.
    private static let endpoints: Set = [
        "debug_token", "me", "oauth/access_token", "app", "dialog/oauth", ".well-known/oauth/openid/jwks",
        "1.1/account/verify_credentials.json", "oauth/request_token",
    ]

    private let capacity: Int
    private(set) var counters = GraphSimulator.Counters()
    private var lastNumber = 0
    private var lastConnection = 0
    /// The number of the last request before the log was last cleared; 0 if the log was never cleared.
    private var base = 0
    /// The latest requests.
    ///
    /// Request number n is at index (n − base − 1) modulo capacity.
    private var ring: [LoggedRequest] = []

    init(capacity: Int) {
        self.capacity = max(capacity, 0)
    }

    /// The requests, oldest first.
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

    /// Counts and stores a request and returns its number.
    mutating func append(_ request: GraphRequest, time: Int, connection: Int, faults: [Int]) -> Int {
        lastNumber += 1
        counters.requests += 1
        let path = request.path
        counters.requestsByPath[path.utf8.count < 40 && Self.endpoints.contains(path) ? path : "other", default: 0] += 1
        guard capacity > 0 else { return lastNumber }
        let entry = LoggedRequest(
            number: lastNumber,
            time: time,
            connection: connection,
            faults: faults,
            request: request
        )
        if ring.count < capacity { ring.append(entry) } else { ring[(lastNumber - base - 1) % capacity] = entry }
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
