import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// The state of one simulator, shared by its connections, the control API and the library's callers.
final class Simulation: Sendable {
    struct State: Sendable {
        var world: World
        var faults = FaultSchedule()
        var log: RequestLog
        /// Seconds by which the simulated time runs ahead of the clock.
        var offset = 0
    }

    /// What a connection is to do with a request.
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
        state = NIOLockedValueBox(
            State(world: try World(dataset, now: clock()), log: RequestLog(capacity: requestLog))
        )
    }

    /// Runs a closure on the state, alone, with the simulated time.
    func update<Result, Failure: Error>(
        _ body: (inout State, _ now: Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let time = clock()
        let result: Swift.Result<Result, Failure> = state.withLockedValue { state in
            do throws(Failure) {
                return .success(try body(&state, time + state.offset))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Back to the data of the start: no faults, no log, no offset, and none of the tokens minted since.
    func reset() throws(DataError) {
        let world = try World(dataset, now: clock())
        state.withLockedValue { state in
            state.world = world
            state.faults.removeAll()
            state.log.clear()
            state.offset = 0
        }
    }

    /// Makes a key and rotates to it; the state is free while the key is made.
    /// - Returns: The new key's `kid`.
    func rotateKeys() throws -> String {
        let key = try SigningKey.generate()
        state.withLockedValue { $0.world.keys.rotate(to: key) }
        return key.kid
    }

    /// Counts a new connection, gives it its number, and says what it is to suffer.
    func accept() -> (number: Int, fault: (moment: Fault.Moment, manner: Fault.Manner)?) {
        state.withLockedValue { state in (state.log.open(), state.faults.verdictOnConnection()) }
    }

    func connectionClosed() {
        state.withLockedValue { $0.log.close() }
    }

    /// Logs a request, judges it and answers it.
    func receive(head: HTTPRequestHead, body: ByteBuffer?, connection: Int, trace: String) -> Plan {
        let request = GraphRequest(head: head, body: body?.readableBytesView)
        let time = clock()
        return state.withLockedValue { state in
            let now = time + state.offset
            var verdict = FaultSchedule.Verdict()
            if !state.faults.isEmpty {
                let signed =
                    TwitterWorld.isTwitters(request.path) ? request.authorization.flatMap(OAuthHeader.init) : nil
                let texts = ["input_token", "fb_exchange_token"].map(request.parameter)
                verdict = state.faults.verdict(
                    path: request.path,
                    app: signed?["oauth_consumer_key"] ?? state.world.app(concerning: request)?.id,
                    tokens: ([request.accessToken, signed?["oauth_token"]] + texts).compactMap { $0 }
                )
            }
            // Where a fault stands in Graph's place, nothing happens to the world.
            func answer(by world: inout World) -> GraphReply {
                world.gateway.answer(request, head: head, body: body, now: now)
                    ?? world.answer(request, now: now, trace: trace)
            }
            let reply: GraphReply
            if verdict.effect?.comesFirst ?? false {
                var bystander = state.world
                reply = answer(by: &bystander)
            } else {
                reply = answer(by: &state.world)
            }
            let number = state.log.append(path: request.path) { number in
                LoggedRequest(
                    number: number,
                    time: now,
                    connection: connection,
                    method: head.method.rawValue,
                    uri: head.uri,
                    path: request.path,
                    parameters: request.parameters.map { ($0.name, $0.value) },
                    body: body.map { Array($0.readableBytesView) } ?? [],
                    faults: verdict.faults,
                    fields: head.headers
                )
            }
            return Plan(number: number, reply: reply, verdict: verdict, now: now)
        }
    }

    func finish(_ number: Int, _ outcome: LoggedRequest.Outcome) {
        state.withLockedValue { $0.log.finish(number, outcome) }
    }
}

extension GraphSimulator {
    /// The clock of the machine.
    public enum SystemClock {
        /// Unix seconds.
        @Sendable
        public static func now() -> Int {
            time(nil)
        }
    }
}
