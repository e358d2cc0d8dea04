/// Matches responses to statements on one connection in pipeline mode, where responses arrive in the order of
/// statements.
///
/// The state machine tells which statement the next response belongs to, and when a response is complete.
///
/// Every statement is followed by a Sync message of its own. So the server runs the later statements even if one fails.
/// A response is complete only once the server has answered the Sync. At the Sync the server commits, and a deferred
/// constraint can still make the commit fail.
struct PipelineStateMachine<Request, Reply> {
    /// An event from libpq.
    enum Event {
        /// A result without an error.
        case success(Reply)
        /// A result with an error.
        case failure(Reply)
        /// The statement was skipped because of an earlier error.
        case skipped
        /// libpq returned NULL in place of a result: the results of one command are complete, or no result has arrived.
        case end
        /// The server's answer to the Sync message that follows each statement.
        case sync
        /// The server waits for the rows of a COPY. In pipeline mode this is a violation, since the driver sends no
        /// COPY there.
        case copyIn
        /// A result that no other case covers, such as that of a COPY to the client. No statement of the driver may
        /// cause it.
        case unsupported
    }

    enum Outcome {
        case success(Reply)
        case failure(Reply)
        /// There is no result. If the response is complete, the server has violated the protocol.
        case nothing
    }

    /// One statement that has been answered.
    struct Completion {
        let request: Request
        let outcome: Outcome
        /// Whether the caller has cancelled and no longer waits for the outcome.
        let isAbandoned: Bool
        /// Whether the preparation failed.
        ///
        /// If so, the server does not know the name of the prepared statement.
        let failedToPrepare: Bool
    }

    enum Action {
        /// Nothing to do; ask for the next event.
        case proceed
        /// libpq has no more events now; wait until the socket is readable.
        case wait
        case complete(Completion)
        /// The event cannot be a response to the statements that were sent: the connection is unusable.
        case violation
    }

    /// A request that had no complete response when the connection broke.
    struct Orphan {
        let request: Request
        /// The error with which the server refused the statement, which then certainly had no effect; nil if there was
        /// no error.
        let refusal: Reply?
    }

    /// The next event that the state machine expects for a statement.
    private enum Stage {
        /// The result of the preparation is due. Can transition to: prepared.
        case preparing
        /// The end of the preparation's results is due. Can transition to: executing.
        case prepared
        /// The result of the statement is due. Can transition to: executed.
        case executing
        /// The end of the statement's results is due. Can transition to: syncing.
        case executed
        /// The server's answer to the Sync message is due; a failure may come before it. Can transition to: none, the
        /// slot is removed.
        case syncing
    }

    private struct Slot {
        let request: Request
        var stage: Stage
        var outcome: Outcome = .nothing
        var isAbandoned = false
        var failedToPrepare = false

        mutating func receive(_ event: Event) -> Received {
            switch (stage, event) {
            case (.preparing, .success):
                stage = .prepared
            case (.preparing, .failure(let reply)):
                stage = .prepared
                failedToPrepare = true
                outcome = .failure(reply)
            case (.prepared, .end):
                stage = .executing
            case (.executing, .success(let reply)):
                stage = .executed
                outcome = .success(reply)
            case (.executing, .failure(let reply)), (.executed, .failure(let reply)), (.syncing, .failure(let reply)):
                if stage == .executing { stage = .executed }
                if case .failure = outcome { break }
                outcome = .failure(reply)
            case (.preparing, .skipped), (.executing, .skipped):
                stage = stage == .preparing ? .prepared : .executed
            case (.executed, .end):
                stage = .syncing
            case (.preparing, .end), (.executing, .end):
                return .wait
            case (.syncing, .end):
                return .wait
            case (.syncing, .sync):
                return .done
            default:
                return .violation
            }
            return .proceed
        }
    }

    private enum Received {
        case proceed
        case wait
        case done
        case violation
    }

    private var slots = FIFO<Slot>()

    /// The number of statements sent and not yet answered.
    var inFlight: Int { slots.count }

    var isEmpty: Bool { slots.isEmpty }

    /// Records that a statement was passed to libpq.
    ///
    /// If `preparing` is true, a request to prepare the statement was passed to libpq first. Its result will arrive
    /// first.
    mutating func sent(_ request: Request, preparing: Bool) {
        slots.append(Slot(request: request, stage: preparing ? .preparing : .executing))
    }

    mutating func receive(_ event: Event) -> Action {
        guard let received = slots.updateFirst({ $0.receive(event) }) else { return .violation }
        switch received {
        case .proceed: return .proceed
        case .wait: return .wait
        case .violation: return .violation
        case .done:
            guard let slot = slots.popFirst() else { return .violation }
            return .complete(
                Completion(
                    request: slot.request,
                    outcome: slot.outcome,
                    isAbandoned: slot.isAbandoned,
                    failedToPrepare: slot.failedToPrepare
                )
            )
        }
    }

    /// Marks a request as abandoned by its caller; returns false if no request matches.
    ///
    /// The request keeps its position in the order. Its response will still arrive, and must not be taken for the
    /// response to the next request.
    mutating func abandon(where matches: (Request) -> Bool) -> Bool {
        slots.update(where: { matches($0.request) }, { $0.isAbandoned = true })
    }

    /// Returns the requests that were in flight when the connection broke, in the order in which they were sent.
    ///
    /// Requests whose callers no longer wait are left out.
    mutating func lost() -> [Orphan] {
        slots.removeAll().compactMap { slot in
            if slot.isAbandoned { return nil }
            guard case .failure(let reply) = slot.outcome else { return Orphan(request: slot.request, refusal: nil) }
            return Orphan(request: slot.request, refusal: reply)
        }
    }
}
