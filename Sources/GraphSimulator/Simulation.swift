import NIOConcurrencyHelpers
import NIOCore

/// The complete state of one simulator: its data, faults, log and time.
///
/// All connections to the simulator, the control API and the callers of ``GraphSimulator`` share this state.
final class Simulation: Sendable {
    struct State: Sendable {
        var world: World
        var faults = FaultSchedule()
        var log: RequestLog
        /// Seconds by which the simulated time is ahead of the clock.
        var offset = 0
    }

    /// The response to a request, with the faults that strike the request.
    struct Plan: Sendable {
        let number: Int
        let reply: GraphReply
        let verdict: FaultSchedule.Verdict
        let now: Int
    }

    private let state: NIOLockedValueBox<State>
    private let clock: @Sendable () -> Int
    private let dataset: GraphSimulator.Dataset

    init(
        _ dataset: GraphSimulator.Dataset,
        requestLog: Int,
        clock: @escaping @Sendable () -> Int
    ) throws(DataError) {
        self.dataset = dataset
        self.clock = clock
        let world = try World(dataset, now: clock())
        state = NIOLockedValueBox(State(world: world, log: RequestLog(capacity: requestLog)))
    }

    /// Runs a closure with exclusive access to the state.
    ///
    /// The closure also gets the simulated time.
    func update<Result, Failure: Error>(
        _ body: (inout State, _ now: Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let time = clock()
        let result = state.withLockedValue { state in
            Swift.Result { () throws(Failure) in try body(&state, time + state.offset) }
        }
        return try result.get()
    }

    /// Restores the state that the simulator had at the start.
    ///
    /// The data is that of the dataset again, all faults are removed, the log is empty, and the simulated time follows
    /// the clock again.
    func reset() throws(DataError) {
        let world = try World(dataset, now: clock())
        state.withLockedValue { state in
            state.world = world
            state.faults.removeAll()
            state.log.clear()
            state.offset = 0
        }
    }

    /// Generates a signing key for ID tokens, and publishes it in place of the older of the two published keys.
    ///
    /// The lock is not held during the generation, which takes about 100 ms.
    ///
    /// - Returns: The new key's `kid`.
    func rotateKeys() throws -> String {
        let key = try SigningKey.generate()
        state.withLockedValue { $0.world.keys.rotate(to: key) }
        return key.kid
    }

    /// Generates a key for an issuer of OpenID Connect, and publishes it in place of the issuer's keys.
    ///
    /// The lock is not held during the generation, which takes about 100 ms for RSA.
    ///
    /// - Parameters:
    ///   - name: The issuer's name.
    ///   - kid: The new key's id; `same` for that of the former key, and `nil` for a new one.
    /// - Returns: The new key; `nil` if there is no such issuer.
    /// - Throws: The error of the generation.
    func rotateKey(ofIssuer name: String, kid: String?) throws -> IssuerKey? {
        let issuer = state.withLockedValue { state in
            state.world.openID.issuers[name]
                .map { ($0.algorithm, state.world.openID.keys.signing(for: $0, rsa: state.world.keys)) }
        }
        guard let (algorithm, former) = issuer else { return nil }
        var generator = SystemRandomNumberGenerator()
        let kid = kid == "same" ? former.kid : kid ?? TokenText.alphanumeric(count: 12, using: &generator)
        let key = try IssuerKey.generate(for: algorithm, kid: kid)
        state.withLockedValue { $0.world.openID.keys.rotate(name, to: key) }
        return key
    }

    /// Counts a new connection, and decides whether a fault interrupts it.
    ///
    /// - Returns: The number of the connection. `fault` says when and how the connection is interrupted; it is `nil` if
    ///   the connection is not interrupted.
    func accept() -> (number: Int, fault: (moment: Fault.Moment, manner: Fault.Manner)?) {
        state.withLockedValue { state in (state.log.open(), state.faults.verdictOnConnection()) }
    }

    func connectionClosed() {
        state.withLockedValue { $0.log.close() }
    }

    /// Logs a request, finds its faults and computes the response.
    func receive(_ request: GraphRequest, connection: Int, trace: String) -> Plan {
        let time = clock()
        return state.withLockedValue { state in
            let now = time + state.offset
            var verdict = FaultSchedule.Verdict()
            if !state.faults.entries.isEmpty {
                let signed =
                    TwitterWorld.isTwitters(request.path) ? request.authorization.flatMap(OAuthHeader.init) : nil
                let texts = ["input_token", "fb_exchange_token", "token", "refresh_token"].map(request.parameter)
                verdict = state.faults.verdict(
                    path: request.path,
                    app: signed?["oauth_consumer_key"] ?? state.world.app(concerning: request)?.id
                        ?? state.world.openID.client(concerning: request),
                    tokens: ([request.accessToken, signed?["oauth_token"]] + texts).compactMap { $0 }
                )
            }
            // A fault that replaces Graph's response does not change the world.
            func answer(by world: inout World) -> GraphReply {
                world.gateway.answer(request, now: now) ?? world.twitter.answer(request, now: now)
                    ?? world.openID.answer(request, rsa: world.keys, now: now)
                    ?? world.answer(request, now: now, trace: trace)
            }
            let reply: GraphReply
            if verdict.effect?.comesFirst ?? false {
                var bystander = state.world
                reply = answer(by: &bystander)
            } else {
                reply = answer(by: &state.world)
            }
            let number = state.log.append(request, time: now, connection: connection, faults: verdict.faults)
            return Plan(number: number, reply: reply, verdict: verdict, now: now)
        }
    }

    func finish(_ number: Int, _ outcome: LoggedRequest.Outcome) {
        state.withLockedValue { $0.log.finish(number, outcome) }
    }
}
