import Encodings
import Glibc

/// A simulator of Facebook that serves real HTTP.
///
/// This module owns what clients see of Facebook: the Graph API with its fields, access tokens, errors, headers and
/// JSON escapes; the login dialog; ID tokens and their signing keys; and the signed requests that Facebook sends to an
/// app. It also owns Twitter, issuers of OpenID Connect, providers of OAuth 2.0, the users of all of these, an SMS
/// gateway, and the ways in which a remote service can fail. The module must not know its callers. It shares with the
/// federation service only the types for JSON and encodings. No module of the service depends on it.
///
/// A simulator runs inside the calling process (this type) or as the command `graph-simulator`. The command also opens
/// a control port, at which clients call the same functions by HTTP. All methods are thread-safe. A change takes effect
/// with the next request.
///
/// ```swift
/// let graph = try await GraphSimulator.start(dataset)
/// let token = try graph.mint(.long, person: "ann", scopes: ["email"]).text
/// graph.add(.init(.delay(milliseconds: 100), path: "me"))
/// // … call http://127.0.0.1:\(graph.port)/v25.0/me …
/// #expect(graph.requests(path: "me").count == 1)
/// await graph.stop()
/// ```
public final class GraphSimulator: Sendable {
    /// The address at which the simulator serves the simulated APIs.
    ///
    /// Its port number is the actual one, even if the system chose the port.
    public let address: Address
    /// The address at which tests configure the simulator by HTTP; `nil` if the simulator has no control port.
    public let controlAddress: Address?

    let simulation: Simulation
    private let listener: Listener

    /// Starts a simulator.
    ///
    /// Its ports are open when this method returns.
    ///
    /// - Parameters:
    ///   - dataset: The data at the start, and again after ``reset()``.
    ///   - address: The address of the simulated APIs. By default, a free port on the loopback address.
    ///   - controlAddress: The address at which tests configure the simulator by HTTP; `nil` for no such port.
    ///   - threads: The number of event loops. One event loop serves thousands of connections.
    ///   - requestLog: The maximum number of requests in the log, which keeps the latest ones.
    ///   - clock: Returns the time in Unix seconds; `nil` for the machine's clock.
    /// - Returns: The simulator.
    /// - Throws: ``DataError`` for an inconsistent dataset, and the system's error for a port that is in use.
    public static func start(
        _ dataset: Dataset,
        address: Address = Address(),
        controlAddress: Address? = nil,
        threads: Int = 1,
        requestLog: Int = 10_000,
        clock: (@Sendable () -> Int)? = nil
    ) async throws -> GraphSimulator {
        let simulation = try Simulation(dataset, requestLog: requestLog, clock: clock ?? { time(nil) })
        let listener = Listener(simulation: simulation, threads: threads)
        do {
            let address = try await listener.listen(address)
            var control: Address?
            if let controlAddress { control = try await listener.listenForControl(controlAddress) }
            return GraphSimulator(address, control: control, simulation: simulation, listener: listener)
        } catch {
            await listener.stop()
            throw error
        }
    }

    private init(_ address: Address, control: Address?, simulation: Simulation, listener: Listener) {
        self.address = address
        controlAddress = control
        self.simulation = simulation
        self.listener = listener
    }

    /// Closes both ports and all connections.
    public func stop() async {
        await listener.stop()
    }

    /// The number of the port that serves the simulated APIs.
    public var port: Int { address.port }

    /// The base URL, such as `http://127.0.0.1:4711`, to use in place of `https://graph.facebook.com`.
    public var url: String { "http://\(address)" }
}

// MARK: - Tokens and codes

extension GraphSimulator {
    /// Issues an access token.
    /// - Throws: ``DataError`` when the user or app does not exist, or another token has the requested name.
    public func mint(_ request: TokenRequest) throws(DataError) -> Token {
        try simulation.update { state, now throws(DataError) in try state.world.mint(request, now: now) }
    }

    /// Issues an access token of the given kind.
    ///
    /// By default, the token is for the first user and the first app of the simulator's data.
    ///
    /// - Throws: ``DataError`` if the user or the app does not exist.
    public func mint(
        _ kind: TokenKind = .long,
        person: String? = nil,
        app: String? = nil,
        scopes: [String]? = nil
    ) throws(DataError) -> Token {
        try mint(TokenRequest(kind, person: person, app: app, scopes: scopes))
    }

    /// Returns the token that has the given name or text; `nil` if there is none.
    public func token(_ nameOrText: String) -> Token? {
        simulation.update { state, _ in state.world.token(namedOrTexted: nameOrText) }
    }

    /// Changes the access token that has the given name or text.
    ///
    /// The closure may change every member of the token except its text. Returns whether the token exists.
    @discardableResult
    public func update(token nameOrText: String, _ change: @Sendable (inout Token) -> Void) -> Bool {
        simulation.update { state, _ in
            guard var token = state.world.token(namedOrTexted: nameOrText) else { return false }
            let text = token.text
            change(&token)
            token.text = text
            state.world.tokens[text] = token
            return true
        }
    }

    /// Returns the app token of an app in the form that the grant type `client_credentials` returns.
    ///
    /// The form is the app id, `|`, and 27 characters. Returns `nil` for an unknown app.
    public func appToken(of app: String) -> String? {
        simulation.update { state, _ in state.world.apps[app].map(TokenText.app) }
    }

    /// Computes the `appsecret_proof` of a token: the HMAC-SHA256 of `token`, or of `token|time` if a time is given.
    ///
    /// The app secret is the key of the HMAC. The result is hexadecimal.
    public static func proof(token: String, time: Int? = nil, secret: String) -> String {
        AppSecretProof.make(token: token, time: time, secret: secret)
    }

    /// Makes an authorization code, as if a user had completed the login dialog.
    ///
    /// The defaults are the first user, the first app, and the permissions that the user has granted. If the scopes
    /// contain `openid`, the exchange of the code also returns an ID token with the nonce.
    ///
    /// - Throws: ``DataError`` if the user or the app does not exist.
    public func code(
        person: String? = nil,
        app: String? = nil,
        redirectURI: String,
        scopes: [String]? = nil,
        nonce: String? = nil,
        codeChallenge: String? = nil,
        method: CodeChallengeMethod = .s256
    ) throws(DataError) -> String {
        var request = CodeRequest(person: person, app: app, redirectURI: redirectURI, scopes: scopes, nonce: nonce)
        request.challenge = codeChallenge.map { ($0, method) }
        return try simulation.update { state, now throws(DataError) in try state.world.code(request, now: now) }
    }

    /// Makes an ID token for a user of the simulator.
    ///
    /// An example is `idToken(person: "ann", nonce: "n", claims: ["aud": "1", "nonce": nil])`. With the defaults, the
    /// token is like one from Facebook. `claims` changes the token's claims, and `header` changes the members of its
    /// header: a value replaces or adds a member, and `nil` removes it. `scopes` decides which claims about the user
    /// the token contains. By default, these are the claims for the permissions that the user has granted.
    ///
    /// - Throws: ``DataError`` if the user, the app or the key does not exist.
    public func idToken(
        person: String? = nil,
        app: String? = nil,
        nonce: String? = nil,
        scopes: [String]? = nil,
        claims: JSON = [:],
        header: JSON = [:],
        signature: IDTokenSignature = .newest
    ) throws -> String {
        var request = IDTokenRequest(person: person, app: app, nonce: nonce, scopes: scopes)
        (request.claims, request.header, request.signature) = (claims, header, signature)
        return try simulation.update { state, now throws(DataError) in
            try state.world.idToken(request, now: now)
        }.signed()
    }

    /// Generates a signing key, and publishes it in the JWKS in place of the older of the two published keys.
    ///
    /// The generation of an RSA key takes about 100 ms on the caller's thread.
    ///
    /// - Returns: The new key's `kid`.
    @discardableResult
    public func rotateKeys() throws -> String {
        try simulation.rotateKeys()
    }

    /// The ids (`kid`) of the two signing keys that the JWKS contains, the older key first.
    public var keys: [String] {
        simulation.update { state, _ in [state.world.keys.older.kid, state.world.keys.newer.kid] }
    }
}

// MARK: - Apps and users

extension GraphSimulator {
    /// Adds an app, or replaces the app with the same id.
    public func put(_ app: App) {
        set(\.apps, app.id, app)
    }

    /// Changes an app.
    ///
    /// Returns `false` if no app has this id.
    @discardableResult
    public func update(app id: String, _ change: @Sendable (inout App) -> Void) -> Bool {
        update(\.apps, id, change)
    }

    /// Removes an app.
    ///
    /// Its tokens remain, and are invalid. Returns whether the app existed.
    @discardableResult
    public func remove(app id: String) -> Bool {
        set(\.apps, id, nil)
    }

    /// Adds a user, or replaces the user with the same key, such as `ann`.
    public func put(_ person: Person) {
        set(\.people, person.key, person)
    }

    /// Returns the user with the given key, such as `ann`; `nil` if there is none.
    public func person(_ key: String) -> Person? {
        simulation.update { state, _ in state.world.people[key] }
    }

    /// Changes a user: `update(person: "ann") { $0.fields["email"] = "new@example.com" }`.
    ///
    /// Returns whether the user exists.
    @discardableResult
    public func update(person key: String, _ change: @Sendable (inout Person) -> Void) -> Bool {
        update(\.people, key, change)
    }

    /// Removes a user, as if the account were deleted.
    ///
    /// Returns whether the user existed.
    @discardableResult
    public func remove(person key: String) -> Bool {
        set(\.people, key, nil)
    }

    /// Simulates that Facebook removed a field of the User node in a version of the Graph API.
    ///
    /// If the simulator's data contains a removal of this field already, the new removal replaces it.
    public func put(_ field: RemovedField) {
        set(\.removedFields, field.name, field)
    }

    /// Adds or replaces the item with the given key in a list of the simulator's data.
    ///
    /// If `item` is `nil`, this method removes the item with this key instead. Returns whether the list contained an
    /// item with this key before.
    @discardableResult
    private func set<Item: Keyed>(_ items: WritableKeyPath<World, [Item]>, _ key: String, _ item: Item?) -> Bool {
        simulation.update { state, _ in
            let isKnown = state.world[keyPath: items][key] != nil
            state.world[keyPath: items][key] = item
            return isKnown
        }
    }

    private func update<Item: Keyed>(
        _ items: WritableKeyPath<World, [Item]>,
        _ key: String,
        _ change: (inout Item) -> Void
    ) -> Bool {
        simulation.update { state, _ in
            guard var item = state.world[keyPath: items][key] else { return false }
            change(&item)
            item.key = key
            state.world[keyPath: items][key] = item
            return true
        }
    }
}

// MARK: - Twitter

extension GraphSimulator {
    /// Adds a Twitter app (a consumer), or replaces the app with the same consumer key.
    public func put(_ consumer: TwitterConsumer) {
        set(\.twitter.consumers, consumer.key, consumer)
    }

    /// Adds a Twitter user, or replaces the user with the same key, such as `ann`.
    public func put(_ person: TwitterPerson) {
        set(\.twitter.people, person.key, person)
    }

    /// Issues a Twitter token.
    /// - Throws: ``DataError`` when the user or consumer does not exist, or another token has the requested name.
    public func mint(_ request: TwitterTokenRequest) throws(DataError) -> TwitterToken {
        try simulation.update { state, _ throws(DataError) in try state.world.twitter.mint(request) }
    }

    /// Returns the Twitter token that has the given name or text; `nil` if there is none.
    public func twitterToken(_ nameOrText: String) -> TwitterToken? {
        simulation.update { state, _ in state.world.twitter.token(namedOrTexted: nameOrText) }
    }

    /// Revokes a Twitter token; returns whether the token exists.
    @discardableResult
    public func revoke(twitterToken nameOrText: String) -> Bool {
        simulation.update { state, _ in
            guard var token = state.world.twitter.token(namedOrTexted: nameOrText) else { return false }
            token.revoked = true
            state.world.twitter.put(token)
            return true
        }
    }
}

// MARK: - OpenID Connect and OAuth 2.0

extension GraphSimulator {
    /// Adds an issuer of OpenID Connect, or replaces the issuer with the same name.
    public func put(_ issuer: OpenIDIssuer) {
        set(\.openID.issuers, issuer.name, issuer)
    }

    /// Adds a provider of OAuth 2.0 without ID tokens, or replaces the provider with the same name.
    public func put(_ provider: OAuth2Provider) {
        set(\.openID.providers, provider.name, provider)
    }
}

// MARK: - Faults

extension GraphSimulator {
    /// Adds a fault after the existing ones.
    ///
    /// For each request, the simulator examines the faults in the order in which they were added.
    ///
    /// - Returns: The fault's id.
    @discardableResult
    public func add(_ fault: Fault) -> Int {
        simulation.update { state, _ in state.faults.add(fault) }
    }

    /// Removes a fault; returns whether it existed.
    @discardableResult
    public func remove(fault id: Int) -> Bool {
        simulation.update { state, _ in state.faults.remove(id) }
    }

    /// Removes all faults.
    public func removeFaults() {
        simulation.update { state, _ in state.faults.removeAll() }
    }

    /// Returns how many requests and connections a fault has struck; `nil` if no fault has this id.
    public func hits(ofFault id: Int) -> Int? {
        simulation.update { state, _ in state.faults.entries.first { $0.id == id }?.hits }
    }

    /// Closes the clients' connections, so that each client's next request opens a new one.
    public func closeConnections() {
        listener.closeConnections()
    }
}

// MARK: - Time, log and reset

extension GraphSimulator {
    /// The simulated time in Unix seconds.
    public var now: Int {
        simulation.update { _, now in now }
    }

    /// Moves the simulated time forwards.
    ///
    /// A negative number of seconds moves it backwards.
    public func advanceClock(bySeconds seconds: Int) {
        simulation.update { state, _ in state.offset += seconds }
    }

    /// Returns the logged requests, the oldest first.
    ///
    /// With a path (without version), returns only the requests to that path.
    public func requests(path: String? = nil) -> [LoggedRequest] {
        let all = simulation.update { state, _ in state.log.requests }
        guard let path else { return all }
        return all.filter { $0.path.hasSameBytes(as: path) }
    }

    /// Waits until the log contains the given number of requests.
    ///
    /// - Returns: The requests. After the timeout, there may be fewer.
    public func requests(
        path: String? = nil,
        atLeast count: Int,
        within limit: Duration = .seconds(5)
    ) async -> [LoggedRequest] {
        let deadline = ContinuousClock.now + limit
        while true {
            let found = requests(path: path)
            guard found.count < count, ContinuousClock.now < deadline, !Task.isCancelled else { return found }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// The messages that the simulated SMS gateway accepted, the oldest first.
    ///
    /// Only the latest thousand are kept.
    public var messages: [SMSMessage] {
        simulation.update { state, _ in state.world.gateway.inbox }
    }

    /// Empties the SMS gateway's inbox.
    public func removeMessages() {
        simulation.update { state, _ in state.world.gateway.inbox = [] }
    }

    /// The numbers of connections, requests and responses, since the start or the last call of ``clearRequests()``.
    public var counters: Counters {
        simulation.update { state, _ in state.log.counters }
    }

    /// Empties the log of requests, and sets the counters to zero.
    ///
    /// Only the counter of open connections keeps its value.
    public func clearRequests() {
        simulation.update { state, _ in state.log.clear() }
    }

    /// Restores the state that the simulator had at the start.
    ///
    /// The data is that of the dataset again, all faults are removed, the log is empty, and the simulated time follows
    /// the clock again.
    ///
    /// - Throws: No error in practice, since the dataset was valid at the start.
    public func reset() throws(DataError) {
        try simulation.reset()
    }
}
