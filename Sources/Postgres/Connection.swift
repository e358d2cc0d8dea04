internal import CLibPQ

/// An open connection in pipeline mode: sends requests and says which one has been answered.
///
/// Not Sendable: it belongs to the pool and is used on the loop only.
final class Connection {
    typealias Pipeline = PipelineStateMachine<Request, ResultSet>

    /// What became of a request that was to be sent.
    enum Sending {
        case sent
        /// The request is at fault; nothing was sent.
        case refused(PostgresError)
        /// The connection is of no use; nothing of the request was sent.
        case broken
        /// The connection is of no use; part of the request may have been sent.
        case brokenMidway
    }

    /// What was found when reading.
    enum Reading {
        case completion(Pipeline.Completion)
        /// A script has ended, with the first error if there was one.
        case script(Request, Pipeline.Outcome)
        case nothing
        case broken
    }

    /// How prepared statements are kept.
    struct Preparing {
        let isEnabled: Bool
        /// Bytes of the texts that may be kept.
        let kept: Int
        /// Bytes of the texts that the server may have parsed in vain before its memory is worth a new connection.
        let discarded: Int
    }

    /// What goes on by the simple protocol, outside of pipeline mode.
    private struct Script {
        let request: Request
        var outcome = Pipeline.Outcome.nothing
        /// The rows that the server takes now, and how many of their bytes libpq has.
        var copying: (rows: CopyRows, taken: Int)?
    }

    let tag: UInt64
    let since: ContinuousClock.Instant
    private let handle: Handle
    private let preparing: Preparing
    private var pipeline = Pipeline()
    private var prepared: PreparedStatements
    private var script: Script?

    /// Since when the oldest request in flight is the oldest.
    private(set) var oldestSince: ContinuousClock.Instant
    /// Whether something was handed to libpq that may not have left yet.
    private(set) var needsFlush = false
    private var isWatchedForWriting = false

    /// No request shall be sent any more, and the connection is closed when the last one is answered.
    var isRetiring = false
    /// Whether a reply that is long overdue makes the connection count as lost.
    var isWatched = true

    /// Takes over a connection that has just been established.
    ///
    /// Nil if libpq refuses to put it into pipeline mode.
    init?(_ handle: Handle, tag: UInt64, preparing: Preparing, now: ContinuousClock.Instant) {
        guard PQsetnonblocking(handle.pointer, 1) == 0, PQenterPipelineMode(handle.pointer) == 1 else { return nil }
        self.handle = handle
        self.tag = tag
        self.preparing = preparing
        prepared = PreparedStatements(capacity: preparing.kept)
        since = now
        oldestSince = now
    }

    var socket: Int32 { handle.socket }

    var isBusy: Bool { !pipeline.isEmpty || script != nil }

    /// Whether the server process has learnt so much that it does not use that a new one is better.
    ///
    /// It frees plans, but what it knows of a table it knows until its end.
    var isWorn: Bool { preparing.isEnabled && prepared.discarded > preparing.discarded }

    /// Whether the session is outside of any transaction.
    ///
    /// Of meaning when nothing is in flight.
    var isOutsideTransaction: Bool { PQtransactionStatus(handle.pointer) == PQTRANS_IDLE }

    // MARK: Sending

    func send(_ request: Request, parameters: inout ParameterBuffer, now: ContinuousClock.Instant) -> Sending {
        guard script == nil else { return .refused(.invalidStatement(.scriptNotAlone)) }
        if !isBusy { oldestSince = now }
        let sending =
            switch request.work {
            case .statement(let statement): send(statement, of: request, parameters: &parameters)
            case .description(let statement): describe(statement, of: request, parameters: &parameters)
            case .script(let text), .copy(let text, _): send(script: text, of: request)
            }
        if case .sent = sending { needsFlush = true }
        return sending
    }

    private func send(_ statement: Statement, of request: Request, parameters: inout ParameterBuffer) -> Sending {
        guard parameters.load(statement.binds) else { return .refused(.invalidStatement(.tooManyOrTooLargeBinds)) }
        let isKept = preparing.isEnabled && !request.isUnnamed
        if isKept, let name = prepared.use(statement, near: request.affinity) {
            request.plan = .reused
            return sendPrepared(name, of: request, isPreparing: false, parameters: &parameters)
        }
        guard !statement.sql.utf8.contains(0) else { return .refused(.invalidStatement(.nulInText)) }
        if isKept, let (name, evicted) = prepared.add(statement, near: request.affinity) {
            request.plan = .fresh
            for name in evicted where !deallocate(name) { return .broken }
            let isPrepared = parameters.withArrays { count, types, _, _, _ in
                name.withUnsafeBufferPointer { name in
                    PQsendPrepare(handle.pointer, name.baseAddress, statement.sql, count, types)
                }
            }
            guard isPrepared == 1 else { return .broken }
            return sendPrepared(name, of: request, isPreparing: true, parameters: &parameters)
        }
        request.plan = .unnamed
        let isSent = parameters.withArrays { count, types, values, lengths, formats in
            PQsendQueryParams(handle.pointer, statement.sql, count, types, values, lengths, formats, 1)
        }
        guard isSent == 1 else { return .broken }
        return sync(request, isPreparing: false)
    }

    private func sendPrepared(
        _ name: PreparedStatements.Name,
        of request: Request,
        isPreparing: Bool,
        parameters: inout ParameterBuffer
    ) -> Sending {
        let isSent = parameters.withArrays { count, _, values, lengths, formats in
            name.withUnsafeBufferPointer { name in
                PQsendQueryPrepared(handle.pointer, name.baseAddress, count, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { return isPreparing ? .brokenMidway : .broken }
        return sync(request, isPreparing: isPreparing)
    }

    /// Has the server read a statement and tell of its columns.
    private func describe(_ statement: Statement, of request: Request, parameters: inout ParameterBuffer) -> Sending {
        guard parameters.load(statement.binds) else { return .refused(.invalidStatement(.tooManyOrTooLargeBinds)) }
        guard !statement.sql.utf8.contains(0) else { return .refused(.invalidStatement(.nulInText)) }
        let isPrepared = parameters.withArrays { count, types, _, _, _ in
            PQsendPrepare(handle.pointer, "", statement.sql, count, types)
        }
        guard isPrepared == 1 else { return .broken }
        guard PQsendDescribePrepared(handle.pointer, "") == 1 else { return .brokenMidway }
        return sync(request, isPreparing: true)
    }

    private func sync(_ request: Request, isPreparing: Bool) -> Sending {
        guard pipeline_sync(handle.pointer) == 1 else { return .brokenMidway }
        pipeline.sent(request, preparing: isPreparing)
        return .sent
    }

    /// Frees a statement on the server.
    ///
    /// Nobody waits for it.
    private func deallocate(_ name: PreparedStatements.Name) -> Bool {
        let text = name.withUnsafeBufferPointer { name in
            "DEALLOCATE " + String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        guard PQsendQueryParams(handle.pointer, text, 0, nil, nil, nil, nil, 1) == 1 else { return false }
        let request = Request(.statement(Statement(sql: text)), origin: .housekeeping)
        guard case .sent = sync(request, isPreparing: false) else { return false }
        return true
    }

    private func send(script text: String, of request: Request) -> Sending {
        guard pipeline.isEmpty else { return .refused(.invalidStatement(.scriptNotAlone)) }
        guard !text.utf8.contains(0) else { return .refused(.invalidStatement(.nulInText)) }
        // libpq refuses the simple protocol inside pipeline mode.
        guard PQexitPipelineMode(handle.pointer) == 1 else { return .broken }
        guard PQsendQuery(handle.pointer, text) == 1 else { return .broken }
        script = Script(request: request)
        return .sent
    }

    /// The server does not have the statement (any more).
    func forget(_ statement: Statement, of request: Request) {
        prepared.remove(statement, near: request.affinity)
    }

    /// The server has the statement, but its plan is of no use any more.
    func expire(_ statement: Statement, of request: Request) {
        prepared.expire(statement, near: request.affinity)
    }

    /// Every plan of now may be of no use any more.
    func expireAll() {
        prepared.expireAll()
    }

    /// The server has forgotten all statements.
    func forgetAll() {
        prepared.removeAll()
    }

    /// Sends what libpq still holds, and rows that are copied as long as the socket has room for them; watches for room
    /// while there is none.
    ///
    /// False if it is broken.
    func flush(_ poller: Poller) -> Bool {
        needsFlush = false
        var status = PQflush(handle.pointer)
        while status == 0, script?.copying != nil {
            guard copyOn() else { return false }
            status = PQflush(handle.pointer)
        }
        guard status >= 0 else { return false }
        let isStuck = status == 1
        guard isStuck != isWatchedForWriting else { return true }
        isWatchedForWriting = isStuck
        return poller.change(socket, tag: tag, reading: true, writing: isStuck)
    }

    /// Hands libpq the next part of the rows that are copied, or says that there are no more.
    ///
    /// libpq would keep in memory whatever it is given: so it gets no more before the socket has taken what it had.
    private func copyOn() -> Bool {
        guard let copying = script?.copying else { return true }
        let part = copying.rows.bytes[copying.taken...].prefix(65_536)
        guard !part.isEmpty else {
            script?.copying = nil
            return put(CopyRows.end[...]) && PQputCopyEnd(handle.pointer, nil) == 1
        }
        script?.copying?.taken += part.count
        return put(part)
    }

    private func put(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            PQputCopyData(
                handle.pointer,
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count)
            ) == 1
        }
    }

    // MARK: Receiving

    /// Reads from the socket.
    ///
    /// False if the connection is gone.
    func fill() -> Bool {
        guard PQconsumeInput(handle.pointer) == 1 else { return false }
        // libpq may have written, too; what it could not write is due for another flush.
        if isWatchedForWriting { needsFlush = true }
        return true
    }

    /// The next thing that what has been read amounts to.
    func next(now: ContinuousClock.Instant) -> Reading {
        if script != nil { return nextOfScript() }
        var waits = 0
        while !pipeline.isEmpty {
            guard PQisBusy(handle.pointer) == 0 else { return .nothing }
            let event = nextEvent()
            switch pipeline.receive(event) {
            case .proceed:
                waits = 0
            case .wait:
                // libpq says "nothing" once between the results of two commands; twice means what it says.
                waits += 1
                if waits > 1 { return .nothing }
            case .complete(let completion):
                oldestSince = now
                return .completion(completion)
            case .violation:
                return .broken
            }
        }
        // With nothing in flight only notices and changed settings come, which libpq digests here.
        _ = PQisBusy(handle.pointer)
        return PQstatus(handle.pointer) == CONNECTION_OK ? .nothing : .broken
    }

    /// Takes the payloads of all notifications that have been read.
    func takeNotifications(_ body: (String) -> Void) {
        while let notification = PQnotifies(handle.pointer) {
            body(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
    }

    private func nextEvent() -> Pipeline.Event {
        guard let result = PQgetResult(handle.pointer) else { return .end }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            return .success(ResultSet(taking: result))
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
            return .failure(ResultSet(taking: result))
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            return .sync
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            return .skipped
        case PGRES_COPY_IN:
            PQclear(result)
            return .copyIn
        default:
            PQclear(result)
            return .unsupported
        }
    }

    private func nextOfScript() -> Reading {
        // While rows are taken, libpq says nothing but that.
        while script?.copying == nil, PQisBusy(handle.pointer) == 0 {
            switch (nextEvent(), script?.outcome) {
            case (.copyIn, _):
                guard case .copy(_, let rows)? = script?.request.work else { return .broken }
                script?.copying = (rows, 0)
                needsFlush = true
            case (.end, let outcome?):
                guard let request = script?.request, PQenterPipelineMode(handle.pointer) == 1 else { return .broken }
                script = nil
                return .script(request, outcome)
            case (.failure, .failure), (.success, .failure):
                // The server stops at the first error; what comes after it tells of the end of the session.
                break
            case (.success(let set), _):
                script?.outcome = .success(set)
            case (.failure(let set), _):
                script?.outcome = .failure(set)
            case (.skipped, _), (.sync, _), (.unsupported, _), (.end, nil):
                return .broken
            }
        }
        return .nothing
    }

    /// The caller of `request` has gone; its reply will be dropped.
    func abandon(_ request: Request) {
        _ = pipeline.abandon { $0 === request }
    }

    /// The connection is gone: all who still wait for an answer, with the refusal of those that have been refused.
    func orphans() -> [Pipeline.Orphan] {
        var orphans = pipeline.lost()
        if let script {
            var refusal: ResultSet?
            if case .failure(let set) = script.outcome { refusal = set }
            orphans.append(Pipeline.Orphan(request: script.request, refusal: refusal))
        }
        script = nil
        return orphans
    }
}
