internal import CLibPQ

/// An open connection in libpq's pipeline mode.
///
/// The connection sends requests and tells which request a response belongs to.
///
/// Not Sendable: the connection belongs to ``ConnectionPool``, and only the thread of its ``EventLoop`` uses it.
final class Connection {
    typealias Pipeline = PipelineStateMachine<Request, ResultSet>

    /// The result of an attempt to send a request.
    enum Sending {
        case sent
        /// The request is invalid; nothing was sent.
        case refused(PostgresError)
        /// The connection is unusable; nothing of the request was sent.
        case broken
        /// The connection is unusable; part of the request may have been sent.
        case brokenMidway
    }

    /// The next event in the data that was read from the server.
    enum Reading {
        case completion(Pipeline.Completion)
        /// A script (several SQL statements in one text) or a COPY has ended. The outcome is the first error, if there
        /// was one.
        case script(Request, Pipeline.Outcome)
        case nothing
        case broken
    }

    /// The limits for prepared statements.
    struct Preparing {
        let isEnabled: Bool
        /// The maximum total size, in bytes, of the SQL texts of the statements that one connection keeps prepared.
        let kept: Int
        /// The maximum total size, in bytes, of the SQL texts of the statements that the connection has discarded.
        ///
        /// Above that, the connection is replaced, which frees the memory of its server process.
        let discarded: Int
    }

    /// A script or a COPY, which is sent with PostgreSQL's simple query protocol.
    ///
    /// libpq permits this protocol only outside of pipeline mode.
    private struct Script {
        let request: Request
        var outcome = Pipeline.Outcome.nothing
        /// The rows of a COPY in progress, and the number of their bytes already passed to libpq.
        var copying: (rows: CopyRows, taken: Int)?
    }

    let tag: UInt64
    let since: ContinuousClock.Instant
    private let handle: Handle
    private let preparing: Preparing
    private var pipeline = Pipeline()
    private var prepared: PreparedStatements
    private var script: Script?

    /// The time at which the connection began to wait for the response to the oldest request in flight.
    private(set) var oldestSince: ContinuousClock.Instant
    /// Whether libpq may hold data that has not been sent yet.
    private(set) var needsFlush = false
    private var isWatchedForWriting = false

    /// Whether the connection takes no more requests and is closed once the last one is answered.
    var isRetiring = false
    /// Whether the pool treats the connection as broken when a response does not arrive in time.
    var isWatched = true

    /// Takes ownership of a newly established connection, and switches it to libpq's pipeline mode.
    ///
    /// Nil if libpq refuses pipeline mode.
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

    /// Whether the connection has discarded so many prepared statements that it should be replaced.
    ///
    /// The server frees the plans of discarded statements. But it keeps metadata of their tables in memory until the
    /// session ends.
    var isWorn: Bool { preparing.isEnabled && prepared.discarded > preparing.discarded }

    /// Whether the session is outside of any transaction.
    ///
    /// Meaningful only when nothing is in flight.
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

    /// Asks the server for the columns of a statement, without running the statement.
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

    /// Frees a prepared statement on the server.
    ///
    /// No caller waits for the response.
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

    /// Removes a statement from this client's record of prepared statements.
    ///
    /// The server has dropped the statement, or never prepared it.
    func forget(_ statement: Statement, of request: Request) {
        prepared.remove(statement, near: request.affinity)
    }

    /// Marks a prepared statement as stale: the server has it, but its plan is no longer usable.
    func expire(_ statement: Statement, of request: Request) {
        prepared.expire(statement, near: request.affinity)
    }

    /// Marks all prepared statements as stale.
    func expireAll() {
        prepared.expireAll()
    }

    /// Clears this client's record of prepared statements, since the server has dropped them all.
    func forgetAll() {
        prepared.removeAll()
    }

    /// Sends the data that libpq holds, and as many rows of a COPY as the socket has room for.
    ///
    /// If some data remains, `poller` watches the socket until it has room again. Returns false if the connection is
    /// broken.
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

    /// Passes the next part of a COPY's rows to libpq, or tells libpq that the rows are complete.
    ///
    /// libpq buffers everything that it is given. So `flush` passes a part only after the socket has taken the previous
    /// one.
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
    /// Returns false if the connection is lost.
    func fill() -> Bool {
        guard PQconsumeInput(handle.pointer) == 1 else { return false }
        // `PQconsumeInput` may also have written. Data that it could not write needs another flush.
        if isWatchedForWriting { needsFlush = true }
        return true
    }

    /// Returns the next event in the data that has been read.
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
                // Between the results of two commands, libpq returns no result once. Twice means that nothing has
                // arrived yet.
                waits += 1
                if waits > 1 { return .nothing }
            case .complete(let completion):
                oldestSince = now
                return .completion(completion)
            case .violation:
                return .broken
            }
        }
        // With nothing in flight, only notices and changed settings arrive. `PQisBusy` makes libpq process them.
        _ = PQisBusy(handle.pointer)
        return PQstatus(handle.pointer) == CONNECTION_OK ? .nothing : .broken
    }

    /// Calls `body` with the payload of each notification that has arrived.
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
        // While libpq accepts rows, it reports nothing else.
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
                // The server stops at the first error. A further result can only be about the end of the session.
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

    /// Marks the request as abandoned by its caller.
    ///
    /// The connection will drop the server's response to the request.
    func abandon(_ request: Request) {
        _ = pipeline.abandon { $0 === request }
    }

    /// Returns the requests that had no complete response when the connection was lost.
    ///
    /// If the server had already refused one of the requests, its error is returned with the request.
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
