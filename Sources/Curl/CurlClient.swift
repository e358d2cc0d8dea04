internal import CLibCurl

/// A client of HTTP and SMTP servers: one thread, one set of connections, as many calls at once as the configuration
/// allows.
///
/// Mails deserve a client of their own: libcurl waits up to a second for the answer to their last word, and the thread
/// with it.
///
/// It is the actor that owns libcurl's handles, on the thread that libcurl runs on; hence no lock guards them. The
/// thread ends, and the connections close, when the client is released.
package actor CurlClient {
    private let configuration: CurlConfiguration
    private let thread: LoopThread
    /// By the identity of their calls, which the transfers keep alive.
    private var inFlight: [ObjectIdentifier: any Transfer] = [:]
    private var idle: [HTTPTransfer] = []
    private var hasNewTransfers = false
    private var isShutDown = false
    private var nextSweep = ContinuousClock.now

    /// Handles kept for the next calls; a handle costs some kilobytes of memory and some microseconds to make.
    private static let maxIdle = 128
    /// How often overdue calls are looked for, in milliseconds, while there are calls.
    private static let sweepInterval: Int32 = 100

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Starts the thread of a client.
    ///
    /// Throws `CurlError.library` when libcurl or the thread does not come up.
    package init(configuration: CurlConfiguration = CurlConfiguration()) throws(CurlError) {
        self.configuration = configuration
        thread = try LoopThread()
        Self.setLimits(configuration, on: thread.multi)
        // Without an owner the thread has nothing to do but the job that ends it, which may be a moment away.
        try thread.start { [weak self] polled in
            self?.assumeIsolated { $0.turn(polled: polled) } ?? 1
        }
    }

    isolated deinit {
        end(all: .shutDown)
        thread.stop()
    }

    /// Makes one call.
    ///
    /// Returns any reply, whatever its status. Returns at the latest a tenth of a second after the request's `timeout`.
    /// When the calling task is cancelled, the transfer is taken down and the call throws `CurlError.cancelled`.
    package nonisolated func send(_ request: HTTPRequest) async throws(CurlError) -> HTTPReply {
        let call = Call()
        return try await outcome(of: call) { $0.start(request, call, $1) }.get()
    }

    /// Hands one mail to a server, over a connection of its own and never twice.
    ///
    /// When the calling task is cancelled, the transfer is taken down, and the call throws what that means for the
    /// mail.
    ///
    /// - Returns: What the server said when it took the mail.
    /// - Throws: Why it has not taken it, or that nobody knows.
    package nonisolated func send(_ mail: SMTPMail, by server: SMTPServer) async throws(SMTPFailure) -> SMTPReply {
        let call = Call()
        return try await outcome(of: call) { $0.start(mail, server, call, $1) }.get()
    }

    private nonisolated func outcome<Success: Sendable, Failure: Error>(
        of call: Call,
        start: @escaping @Sendable (isolated CurlClient, CallContinuation<Success, Failure>) -> Void
    ) async -> Result<Success, Failure> {
        await withTaskCancellationHandler {
            // Checked not for the check alone: ThreadSanitizer reports the unchecked one, resumed before it waits, as a
            // race.
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
            // The handle may hold a part of the request's options, so it is not used again.
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

    /// Takes a call away from libcurl; its outcome is still to be told.
    private func remove(_ call: ObjectIdentifier) -> (any Transfer)? {
        guard let transfer = inFlight.removeValue(forKey: call) else { return nil }
        curl_multi_remove_handle(thread.multi, transfer.handle)
        return transfer
    }

    /// A handle of SMTP is used once: it holds the user and the password.
    private func keep(_ transfer: any Transfer) {
        guard idle.count < Self.maxIdle, let transfer = transfer as? HTTPTransfer else { return }
        idle.append(transfer)
    }

    // MARK: The thread's turn

    /// Lets libcurl work, ends what is done or overdue, and returns how long the thread may sleep.
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
            // The message dies when its handle is removed.
            let code = curl_message_result(message)
            var context: UnsafeMutablePointer<CChar>?
            guard curl_getinfo_pointer(handle, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { continue }
            let call = Unmanaged<Call>.fromOpaque(UnsafeMutableRawPointer(context)).takeUnretainedValue()
            guard let transfer = remove(ObjectIdentifier(call)) else { continue }
            transfer.finish(code)
            keep(transfer)
        }
    }

    /// Ends the calls that libcurl leaves overdue: up to 8.8 at least it does not apply the limits to a transfer that
    /// waits for a connection (curl/curl#13227), but lets those that wait try one after another.
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
        // The cache counts connections in use, too: a smaller one would close an idle connection after every call as
        // soon as many hang.
        curl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxConnections)
    }
}
