internal import CLibCurl

/// An HTTP transfer: one easy handle with the state of its callbacks, used for one call after another.
///
/// Constant options are set on creation. `prepare` sets all other options, so nothing of a call reaches the next call.
/// Only the thread of the client uses a transfer; libcurl's callbacks run on that thread.
final class HTTPTransfer: Transfer {
    /// The maximum total size of the status line and headers, including interim responses and trailers, in bytes.
    static let maxHeadBytes = 65536

    let handle: UnsafeMutableRawPointer

    /// The current call; nil between two calls.
    private(set) var call: Call?
    private var continuation: CallContinuation<HTTPReply, CurlError>?
    private var deadline = ContinuousClock.now
    private var connectDeadline = ContinuousClock.now

    private var isPlain = false
    private var isPublicOnly = false
    private var uploadBytes = 0
    private var maxReplyBytes = 0
    /// The list that `CURLOPT_HTTPHEADER` points to.
    var headerList: UnsafeMutablePointer<curl_slist>?
    private let unacknowledgedMilliseconds: Int32

    private var head: [UInt8] = []
    private var headBytes = 0
    private var isHeadComplete = false
    private var body: [UInt8] = []
    /// The reason why one of libcurl's callbacks aborted the transfer; nil if no callback did.
    ///
    /// The call ends with this error instead of libcurl's result code.
    private var verdict: CurlError?

    /// Creates a handle with the options for every call; nil if libcurl fails.
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

    /// Sets the options of the libcurl handle for a request.
    ///
    /// Returns whether libcurl accepted all options. In either case `finish` must be called later; it resumes
    /// `continuation` with the outcome.
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
        isPublicOnly = request.isPublicOnly
        maxReplyBytes = request.maxReplyBytes
        uploadBytes = request.body?.count ?? 0
        guard setHeaders(request), setMethod(request) else { return false }
        return set(CURLOPT_PRIVATE, call)
            && set(CURLOPT_URL, request.url.text)
            && set(CURLOPT_TIMEOUT_MS, request.timeout.wholeMilliseconds)
            && set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
            && set(CURLOPT_FRESH_CONNECT, request.reusesConnection ? 0 : 1)
            && set(CURLOPT_HTTP_VERSION, Int(isPlain ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
            // With TLS, a call waits for a stream on a connection that is being opened. This saves a handshake. Without
            // TLS, only the first response tells whether the server supports streams. A server that hangs never
            // responds.
            && set(CURLOPT_PIPEWAIT, isPlain ? 0 : 1)
    }

    /// Resumes the caller with the outcome that libcurl's result code stands for, and makes the transfer ready for
    /// reuse.
    func finish(_ code: CURLcode) {
        if let verdict {
            finish(verdict)
        } else if code != CURLE_OK {
            finish(failure(code))
        } else if !isHeadComplete {
            // The connection ended within the headers. libcurl takes that for the end of a response without a body.
            finish(.reset(requestSent: true))
        } else if let status = number(CURLINFO_RESPONSE_CODE), (100...999).contains(status) {
            resume(.success(HTTPReply(status: status, head: head, body: body)))
        } else {
            finish(.badReply)
        }
    }

    /// Resumes the caller with `error`, and resets the transfer.
    func finish(_ error: CurlError) {
        resume(.failure(error))
    }

    /// Returns nil while the call is within its time limits; after that, the phase that the call is in.
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

    /// Whether the server may have received the whole request.
    ///
    /// True when in doubt: partly written headers count as complete.
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

    /// Takes one header line; returns whether the transfer may continue.
    func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count <= Self.maxHeadBytes - headBytes else {
            verdict = .replyTooLarge
            return false
        }
        headBytes += line.count
        if line.starts(with: "HTTP/".utf8), head.isEmpty || isHeadComplete {
            // This line begins a response: the first one, or the one after an interim response.
            head.removeAll(keepingCapacity: true)
            isHeadComplete = false
        }
        // Lines after the empty line are trailers, which must not pass for headers.
        guard !isHeadComplete else { return true }
        isHeadComplete = line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n")
        if head.isEmpty { head.reserveCapacity(512) }
        head.append(contentsOf: line)
        return true
    }

    /// Takes a piece of the decoded body; returns whether the transfer may continue.
    func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= maxReplyBytes - body.count else {
            verdict = .replyTooLarge
            return false
        }
        body.append(contentsOf: piece)
        return true
    }

    /// Opens the socket for a connection.
    ///
    /// If the URL's scheme is http, refuses every address that is not a loopback address. Even the name `localhost`
    /// could resolve to another machine. If the call is for the public internet only, refuses all other addresses.
    func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard !isPlain || LoopbackAddress.contains(address) else {
            verdict = .invalidRequest(.plainHTTPBeyondLoopback)
            return CURL_SOCKET_BAD
        }
        guard !isPublicOnly || InternetAddress.contains(address) else {
            verdict = .invalidRequest(.addressNotPublic)
            return CURL_SOCKET_BAD
        }
        return Socket.open(for: address, unacknowledgedMilliseconds: unacknowledgedMilliseconds)
    }
}
