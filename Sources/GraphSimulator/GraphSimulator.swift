/// A stand-in for Facebook that answers over real HTTP.
///
/// What this module owns: how Facebook looks from outside — Graph with its fields, tokens, errors, headers and escapes,
/// the login dialog, ID tokens and their keys, the signed calls to an app — and Twitter, the people behind them, a
/// gateway for SMS, and every way in which a remote service can fail. What it must not know: who calls. Nothing here
/// depends on the federation service, and nothing in the service depends on this.
///
/// A simulator runs inside the calling process (this type) or as the `graph-simulator` command, which adds a control
/// port with the same powers. All methods may be called from anywhere at any time; a change holds for the next request.
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
    /// Where the public port listens, with its real port.
    public let address: Address
    /// Where the control port listens, if there is one.
    public let controlAddress: Address?

    let simulation: Simulation
    private let listener: Listener

    /// Starts a simulator.
    /// - Parameters:
    ///   - dataset: What exists at the start, and again after ``reset()``.
    ///   - address: The public port; by default a free one on the loopback address.
    ///   - controlAddress: The control port; none by default.
    ///   - threads: Event loops. One serves thousands of connections.
    ///   - requestLog: How many of the latest requests are remembered.
    ///   - clock: The time as Unix seconds.
    /// - Returns: A simulator that answers already.
    /// - Throws: ``DataError`` for a dataset that contradicts itself, and the system's error for a port that is taken.
    public static func start(
        _ dataset: Dataset,
        address: Address = Address(),
        controlAddress: Address? = nil,
        threads: Int = 1,
        requestLog: Int = 10_000,
        clock: @escaping @Sendable () -> Int = SystemClock.now
    ) async throws -> GraphSimulator {
        let simulation = try Simulation(dataset, requestLog: requestLog, clock: clock)
        let listener = Listener(simulation: simulation, threads: threads)
        do {
            let bound = try await listener.listen(address)
            let control: Address? =
                if let controlAddress { try await listener.listenForControl(controlAddress) } else { nil }
            return GraphSimulator(bound, control: control, simulation: simulation, listener: listener)
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

    /// The public port's number.
    public var port: Int { address.port }

    /// `http://127.0.0.1:4711`, to be used in place of `https://graph.facebook.com`.
    public var url: String { "http://\(address)" }
}

// MARK: - Tokens

extension GraphSimulator {
    /// Issues a token.
    /// - Throws: ``DataError`` when the person or app does not exist, or the name is taken.
    public func mint(_ request: TokenRequest) throws(DataError) -> Token {
        try simulation.update { state, now throws(DataError) in try state.world.mint(request, now: now) }
    }

    /// Issues a token of a kind; the first app and the first person unless named.
    /// - Throws: ``DataError`` when the person or app does not exist.
    public func mint(
        _ kind: TokenKind = .long,
        person: String? = nil,
        app: String? = nil,
        scopes: [String]? = nil
    ) throws(DataError) -> Token {
        try mint(TokenRequest(kind, person: person, app: app, scopes: scopes))
    }

    /// The token of that name or text, if there is one.
    public func token(_ nameOrText: String) -> Token? {
        simulation.update { state, _ in state.world.token(namedOrTexted: nameOrText) }
    }

    /// Changes a token: its kind, times or scopes, not its text.
    /// - Returns: Whether there is one of that name or text.
    @discardableResult
    public func update(token nameOrText: String, _ change: @Sendable (inout Token) -> Void) -> Bool {
        simulation.update { state, _ in
            guard var token = state.world.token(namedOrTexted: nameOrText) else { return false }
            let text = token.text
            change(&token)
            token.text = text
            state.world.put(token)
            return true
        }
    }

    /// The app token that `client_credentials` gives: `id|27 characters`.
    ///
    /// `nil` for an unknown app.
    public func appToken(of app: String) -> String? {
        simulation.update { state, _ in state.world.app(app).map(TokenText.app) }
    }

    /// The proof that Graph expects beside a token: hexadecimal HMAC-SHA256 of `token`, or of `token|time`.
    public static func proof(token: String, time: Int? = nil, secret: String) -> String {
        AppSecretProof.make(token: token, time: time, secret: secret)
    }
}

// MARK: - Apps and people

extension GraphSimulator {
    /// Adds an app, or replaces the one of the same id.
    public func put(_ app: App) {
        simulation.update { state, _ in state.world.put(app) }
    }

    /// Changes an app.
    ///
    /// Returns whether it exists.
    @discardableResult
    public func update(app id: String, _ change: @Sendable (inout App) -> Void) -> Bool {
        simulation.update { state, _ in
            guard var app = state.world.app(id) else { return false }
            change(&app)
            app.id = id
            state.world.put(app)
            return true
        }
    }

    /// Removes an app; its tokens stay and are worth nothing.
    ///
    /// Returns whether it existed.
    @discardableResult
    public func remove(app id: String) -> Bool {
        simulation.update { state, _ in state.world.removeApp(id) }
    }

    /// Adds a person, or replaces the one of the same key.
    public func put(_ person: Person) {
        simulation.update { state, _ in state.world.put(person) }
    }

    /// The person with that key.
    public func person(_ key: String) -> Person? {
        simulation.update { state, _ in state.world.person(key) }
    }

    /// Changes a person: `update(person: "ann") { $0.fields["email"] = "new@example.com" }`.
    ///
    /// Returns whether it exists.
    @discardableResult
    public func update(person key: String, _ change: @Sendable (inout Person) -> Void) -> Bool {
        simulation.update { state, _ in
            guard var person = state.world.person(key) else { return false }
            change(&person)
            person.key = key
            state.world.put(person)
            return true
        }
    }

    /// Removes a person, as if the account were deleted.
    ///
    /// Returns whether it existed.
    @discardableResult
    public func remove(person key: String) -> Bool {
        simulation.update { state, _ in state.world.removePerson(key) }
    }
}

// MARK: - Removed fields

extension GraphSimulator {
    /// Takes a field away from a version on, or changes that version.
    public func put(_ field: RemovedField) {
        simulation.update { state, _ in state.world.put(field) }
    }

    /// Undoes the removal of a field.
    ///
    /// Returns whether it was removed.
    @discardableResult
    public func bringBack(field name: String) -> Bool {
        simulation.update { state, _ in state.world.bringBack(field: name) }
    }
}

// MARK: - Faults

extension GraphSimulator {
    /// Adds a fault behind those that are there.
    /// - Returns: Its id.
    @discardableResult
    public func add(_ fault: Fault) -> Int {
        simulation.update { state, _ in state.faults.add(fault) }
    }

    /// Ends a fault.
    ///
    /// Returns whether it was there.
    @discardableResult
    public func remove(fault id: Int) -> Bool {
        simulation.update { state, _ in state.faults.remove(id) }
    }

    /// Ends all faults.
    public func removeFaults() {
        simulation.update { state, _ in state.faults.removeAll() }
    }

    /// How often a fault has struck; `nil` for an unknown id.
    public func hits(ofFault id: Int) -> Int? {
        simulation.update { state, _ in state.faults.entries.first { $0.id == id }?.hits }
    }

    /// Closes the clients' connections, so that their next request opens a new one.
    public func closeConnections() {
        listener.closeConnections()
    }
}

// MARK: - Time, log and reset

extension GraphSimulator {
    /// The simulated time, Unix seconds.
    public var now: Int {
        simulation.update { _, now in now }
    }

    /// Moves the simulated time, forwards or (negative) backwards.
    public func advanceClock(bySeconds seconds: Int) {
        simulation.update { state, _ in state.offset += seconds }
    }

    /// The remembered requests, oldest first; with a path (without version) only those to it.
    public func requests(path: String? = nil) -> [LoggedRequest] {
        let all = simulation.update { state, _ in state.log.requests }
        guard let path else { return all }
        return all.filter { $0.path.utf8.elementsEqual(path.utf8) }
    }

    /// Waits until so many requests have come.
    /// - Returns: The requests; fewer than asked for when the time is over.
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

    /// What happened on the public port since the start or the last clearing.
    public var counters: Counters {
        simulation.update { state, _ in state.log.counters }
    }

    /// Forgets the requests and sets the counters to zero.
    public func clearRequests() {
        simulation.update { state, _ in state.log.clear() }
    }

    /// Everything as at the start: the dataset, no faults, no log, the clock's own time.
    /// - Throws: Nothing in practice: the dataset was good at the start.
    public func reset() throws(DataError) {
        try simulation.reset()
    }
}
