internal import CLibCurl

/// A client for HTTP and SMTP servers, with one thread, one set of connections, and a limit of concurrent calls.
///
/// Mails should be sent by a separate client: after each mail libcurl blocks the thread for up to a second, to wait for
/// the response to QUIT.
///
/// The actor owns libcurl's handles and runs on one thread, so the handles need no lock. When the client is released,
/// the thread ends and the connections close.
package actor CurlClient {
    private let configuration: CurlConfiguration
    private let thread: LoopThread
    /// The transfers in flight, by the identity of their calls.
    ///
    /// A transfer keeps its call alive.
    private var inFlight: [ObjectIdentifier: any Transfer] = [:]
    private var idle: [HTTPTransfer] = []
    private var hasNewTransfers = false
    private var isShutDown = false
    private var nextSweep = ContinuousClock.now

    /// The maximum number of idle libcurl handles that are kept for reuse.
    ///
    /// A handle takes some kilobytes of memory, and some microseconds to create.
    private static let maxIdle = 128
    /// The interval, in milliseconds, at which the client looks for overdue calls while calls are in flight.
    private static let sweepInterval: Int32 = 100

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates a client and starts its thread.
    ///
    /// Throws `CurlError.library` if libcurl or the thread does not start.
    package init(configuration: CurlConfiguration = CurlConfiguration()) throws(CurlError) {
        self.configuration = configuration
        thread = try LoopThread()
        Self.setLimits(configuration, on: thread.multi)
        // After the release of the client, the only work left is the job that ends the thread. It may come a moment
        // later.
        try thread.start { [weak self] polled in
            self?.assumeIsolated { $0.turn(polled: polled) } ?? 1
        }
    }

    isolated deinit {
        end(all: .shutDown)
        thread.stop()
    }

    /// Sends an HTTP request and returns the response, whatever its status.
    ///
    /// Returns or throws at the latest a tenth of a second after the request's `timeout`. When the calling task is
    /// cancelled, the transfer ends and the method throws `CurlError.cancelled`.
    package nonisolated func send(_ request: HTTPRequest) async throws(CurlError) -> HTTPReply {
        let call = Call()
        return try await outcome(of: call) { $0.start(request, call, $1) }.get()
    }

    /// Sends a mail to a server, over a connection of its own and never twice.
    ///
    /// When the calling task is cancelled, the transfer ends, and the thrown error tells whether the server may have
    /// the mail.
    ///
    /// - Returns: The server's reply that accepts the mail.
    /// - Throws: The reason why the server refused the mail or did not get it, or that the outcome is unknown.
    package nonisolated func send(_ mail: SMTPMail, by server: SMTPServer) async throws(SMTPFailure) -> SMTPReply {
        let call = Call()
        return try await outcome(of: call) { $0.start(mail, server, call, $1) }.get()
    }

    private nonisolated func outcome<Success: Sendable, Failure: Error>(
        of call: Call,
        start: @escaping @Sendable (isolated CurlClient, CallContinuation<Success, Failure>) -> Void
    ) async -> Result<Success, Failure> {
        await withTaskCancellationHandler {
            // Checked not only for safety: ThreadSanitizer reports a race for an unchecked continuation that is resumed
            // before its task waits.
            await withCheckedContinuation { continuation in
                thread.submit { self.assumeIsolated { start($0, continuation) } }
            }
        } onCancel: {
            call.cancel()
            thread.submit { self.assumeIsolated { $0.cancel(call) } }
        }
    }

    /// Ends every call with `CurlError.shutDown`, closes all connections, and refuses further calls.
    package func shutdown() async {
        guard !isShutDown else { return }
        isShutDown = true
        end(all: .shutDown)
        idle = []
        thread.closeConnections()
    }

    // MARK: Transfers

    private func start(_ request: HTTPRequest, _ call: Call, _ continuation: CallContinuation<HTTPReply, CurlError>) {
        if let refusal = refusal(of: call) { return continuation.resume(returning: .failure(refusal)) }
        guard let transfer = idle.popLast() ?? HTTPTransfer(configuration) else {
            return continuation.resume(returning: .failure(.library(code: CURLE_OUT_OF_MEMORY.rawValue)))
        }
        begin(transfer, for: call, isPrepared: transfer.prepare(request, for: call, continuation))
    }

    private func start(
        _ mail: SMTPMail,
        _ server: SMTPServer,
        _ call: Call,
        _ continuation: CallContinuation<SMTPReply, SMTPFailure>
    ) {
        if let refusal = refusal(of: call) { return continuation.resume(returning: .failure(.notSent(refusal))) }
        guard let transfer = SMTPTransfer(mail, continuation) else {
            return continuation.resume(returning: .failure(.notSent(.library(code: CURLE_OUT_OF_MEMORY.rawValue))))
        }
        begin(transfer, for: call, isPrepared: transfer.prepare(for: call, by: server, configuration))
    }

    private func begin(_ transfer: any Transfer, for call: Call, isPrepared: Bool) {
        guard isPrepared, curl_multi_add_handle(thread.multi, transfer.handle) == CURLM_OK else {
            // The handle may hold part of the request's options, so it is not reused.
            return transfer.finish(.library(code: CURLE_OUT_OF_MEMORY.rawValue))
        }
        if inFlight.isEmpty { nextSweep = .now + .milliseconds(Self.sweepInterval) }
        inFlight[ObjectIdentifier(call)] = transfer
        hasNewTransfers = true
    }

    private func refusal(of call: Call) -> CurlError? {
        if isShutDown { return .shutDown }
        if call.isCancelled { return .cancelled }
        return inFlight.count < configuration.maxInFlight ? nil : .overloaded
    }

    private func cancel(_ call: Call) {
        guard let transfer = remove(ObjectIdentifier(call)) else { return }
        transfer.finish(.cancelled)
        keep(transfer)
    }

    private func end(all error: CurlError) {
        for call in Array(inFlight.keys) {
            remove(call)?.finish(error)
        }
    }

    /// Removes a call from `inFlight`, and the call's handle from libcurl.
    ///
    /// Does not resume the caller.
    private func remove(_ call: ObjectIdentifier) -> (any Transfer)? {
        guard let transfer = inFlight.removeValue(forKey: call) else { return nil }
        curl_multi_remove_handle(thread.multi, transfer.handle)
        return transfer
    }

    /// Keeps the libcurl handle of an HTTP transfer for reuse.
    ///
    /// The handle of a mail holds user and password, so it is not kept.
    private func keep(_ transfer: any Transfer) {
        guard idle.count < Self.maxIdle, let transfer = transfer as? HTTPTransfer else { return }
        idle.append(transfer)
    }

    // MARK: The thread's turn

    /// Lets libcurl work, ends calls that are done or overdue, and returns how many milliseconds the thread may sleep.
    private func turn(polled: Bool) -> Int32 {
        if polled || hasNewTransfers {
            hasNewTransfers = false
            var running: Int32 = 0
            curl_multi_perform(thread.multi, &running)
            finishDone()
        }
        guard !inFlight.isEmpty else { return 60_000 }
        sweep()
        return Self.sweepInterval
    }

    private func finishDone() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(thread.multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            // The message is freed when its handle is removed.
            let code = curl_message_result(message)
            var context: UnsafeMutablePointer<CChar>?
            guard curl_getinfo_pointer(handle, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { continue }
            let call = Unmanaged<Call>.fromOpaque(UnsafeMutableRawPointer(context)).takeUnretainedValue()
            guard let transfer = remove(ObjectIdentifier(call)) else { continue }
            transfer.finish(code)
            keep(transfer)
        }
    }

    /// Ends the calls whose time limits have passed and that libcurl itself has not ended.
    ///
    /// A transfer that waits for a connection is not ended by libcurl, up to version 8.8 at least (curl/curl#13227).
    private func sweep() {
        let now = ContinuousClock.now
        guard now >= nextSweep else { return }
        nextSweep = now + .milliseconds(Self.sweepInterval)
        for (call, transfer) in inFlight {
            guard let phase = transfer.overduePhase(at: now) else { continue }
            remove(call)?.finish(.timeout(phase))
        }
    }

    private static func setLimits(_ configuration: CurlConfiguration, on multi: UnsafeMutableRawPointer) {
        curl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        curl_multi_setopt_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.maxConnections)
        curl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnectionsPerHost)
        // The cache also counts connections in use. If the cache were smaller, libcurl would close the idle connection
        // after every call as soon as many other calls hang.
        curl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxConnections)
    }
}
