internal import CLibCurl

/// An HTTP call: one easy handle with what its callbacks write to, used for one call after another.
///
/// Options that never differ are set when the handle is made; `prepare` sets every other one, so that nothing of a call
/// reaches the next. Only the thread of the client touches it; libcurl's callbacks run on that thread.
final class HTTPTransfer: Transfer {
    /// Most bytes of status line and headers, those of interim replies and trailers included.
    static let maxHeadBytes = 65536

    let handle: UnsafeMutableRawPointer

    /// The call that the handle is used for; nil between two.
    private(set) var call: Call?
    private var continuation: CallContinuation<HTTPReply, CurlError>?
    private var deadline = ContinuousClock.now
    private var connectDeadline = ContinuousClock.now

    private var isPlain = false
    private var uploadBytes = 0
    private var maxReplyBytes = 0
    /// What `CURLOPT_HTTPHEADER` points to.
    var headerList: UnsafeMutablePointer<curl_slist>?
    private let unacknowledgedMilliseconds: Int32

    private var head: [UInt8] = []
    private var headBytes = 0
    private var isHeadComplete = false
    private var body: [UInt8] = []
    /// Why a callback ended the transfer, in place of libcurl's own reason.
    private var verdict: CurlError?

    /// Makes a handle with the options that hold for every call; nil when libcurl refuses one.
    init?(_ configuration: CurlConfiguration) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        unacknowledgedMilliseconds = Int32(
            clamping: Duration.seconds(configuration.unacknowledgedSeconds).wholeMilliseconds
        )
        guard setLastingOptions(configuration) else { return nil }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
    }

    // MARK: A call's life

    /// Makes the handle ready for `request`, whose outcome goes to `continuation` by `finish`.
    ///
    /// Returns whether libcurl took all options. With false, too, `finish` has to be called.
    func prepare(
        _ request: HTTPRequest,
        for call: Call,
        _ continuation: CallContinuation<HTTPReply, CurlError>
    ) -> Bool {
        self.call = call
        self.continuation = continuation
        let now = ContinuousClock.now
        deadline = now + request.timeout
        connectDeadline = now + request.connectTimeout
        isPlain = request.url.isPlain
        maxReplyBytes = request.maxReplyBytes
        uploadBytes = request.body?.count ?? 0
        guard setHeaders(request), setMethod(request) else { return false }
        return set(CURLOPT_PRIVATE, call)
            && set(CURLOPT_URL, request.url.text)
            && set(CURLOPT_TIMEOUT_MS, request.timeout.wholeMilliseconds)
            && set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
            && set(CURLOPT_FRESH_CONNECT, request.reusesConnection ? 0 : 1)
            && set(CURLOPT_HTTP_VERSION, Int(isPlain ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
            // Rather a stream on the connection that is being made than one more handshake. In plain text nobody would
            // know before the first reply whether streams are to be had, and a server that hangs never tells.
            && set(CURLOPT_PIPEWAIT, isPlain ? 0 : 1)
    }

    /// Gives the caller the outcome that libcurl's `code` stands for, and forgets the call.
    func finish(_ code: CURLcode) {
        if let verdict {
            finish(verdict)
        } else if code != CURLE_OK {
            finish(failure(code))
        } else if !isHeadComplete {
            // libcurl takes a connection that ends within the head for the end of a reply without a body.
            finish(.reset(requestSent: true))
        } else if let status = number(CURLINFO_RESPONSE_CODE), (100...999).contains(status) {
            resume(.success(HTTPReply(status: status, head: head, body: body)))
        } else {
            finish(.badReply)
        }
    }

    /// Gives the caller `error` and forgets the call.
    func finish(_ error: CurlError) {
        resume(.failure(error))
    }

    /// How far a call has come whose time is up; nil for one that still has some.
    func overduePhase(at now: ContinuousClock.Instant) -> CurlError.TimeoutPhase? {
        guard now > min(deadline, connectDeadline) else { return nil }
        let phase = phase
        return now > deadline || phase == .connecting ? phase : nil
    }

    private var phase: CurlError.TimeoutPhase {
        (microseconds(CURLINFO_PRETRANSFER_TIME_T) ?? 0) > 0 ? .waiting : .connecting
    }

    private func resume(_ result: Result<HTTPReply, CurlError>) {
        head = []
        headBytes = 0
        isHeadComplete = false
        body = []
        verdict = nil
        curl_setopt_list(handle, CURLOPT_HTTPHEADER, nil)
        curl_slist_free_all(headerList)
        headerList = nil
        call = nil
        let continuation = self.continuation
        self.continuation = nil
        continuation?.resume(returning: result)
    }

    // MARK: Outcome

    private func number(_ info: CURLINFO) -> Int? {
        var value = 0
        return curl_getinfo_long(handle, info, &value) == CURLE_OK ? value : nil
    }

    private func microseconds(_ info: CURLINFO) -> curl_off_t? {
        var value: curl_off_t = 0
        return curl_getinfo_offset(handle, info, &value) == CURLE_OK ? value : nil
    }

    /// Whether the request may have reached the server as a whole.
    ///
    /// True when in doubt: a part of the head that was written counts as all of it.
    private var isRequestSent: Bool {
        guard let head = number(CURLINFO_REQUEST_SIZE), head > 0 else { return false }
        return uploadBytes == 0 || (microseconds(CURLINFO_SIZE_UPLOAD_T) ?? 0) >= uploadBytes
    }

    private func failure(_ code: CURLcode) -> CurlError {
        CurlError(
            code,
            phase: phase,
            isRequestSent: isRequestSent,
            hasReplyBegun: headBytes > 0,
            errno: Int32(clamping: number(CURLINFO_OS_ERRNO) ?? 0),
            certificateVerdict: number(CURLINFO_SSL_VERIFYRESULT) ?? 0
        )
    }

    // MARK: Callbacks

    /// Takes one header line; returns whether the transfer may go on.
    func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count <= Self.maxHeadBytes - headBytes else {
            verdict = .replyTooLarge
            return false
        }
        headBytes += line.count
        if line.starts(with: "HTTP/".utf8), head.isEmpty || isHeadComplete {
            // Also the head of the next reply when the one before was an interim one.
            head.removeAll(keepingCapacity: true)
            isHeadComplete = false
        }
        // What comes after the empty line are trailers: a sender's afterthought that must not pass for a header.
        guard !isHeadComplete else { return true }
        isHeadComplete = line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n")
        if head.isEmpty { head.reserveCapacity(512) }
        head.append(contentsOf: line)
        return true
    }

    /// Takes a piece of the decoded body; returns whether the transfer may go on.
    func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= maxReplyBytes - body.count else {
            verdict = .replyTooLarge
            return false
        }
        body.append(contentsOf: piece)
        return true
    }

    /// Opens the socket for a connection, or refuses: plain http never leaves this machine, whatever a name resolves
    /// to.
    func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard !isPlain || LoopbackAddress.contains(address) else {
            verdict = .invalidRequest(.plainHTTPBeyondLoopback)
            return CURL_SOCKET_BAD
        }
        return Socket.open(for: address, unacknowledgedMilliseconds: unacknowledgedMilliseconds)
    }
}
