internal import CLibCurl
internal import Glibc

/// One easy handle with what its callbacks write to, used for one call after another.
///
/// Options that never differ are set when the handle is made; `prepare` sets every other one, so that nothing of a call
/// reaches the next. Only the thread of the client touches it; libcurl's callbacks run on that thread.
final class Transfer {
    /// Most bytes of status line and headers, those of interim replies and trailers included.
    static let maxHeadBytes = 65536

    let handle: UnsafeMutableRawPointer

    /// Tells this call of the handle from earlier ones.
    private(set) var serial: UInt64 = 0
    private(set) var deadline = ContinuousClock.now
    private var continuation: UnsafeContinuation<Result<HTTPReply, CurlError>, Never>?

    private var isPlain = false
    private var uploadBytes = 0
    private var maxReplyBytes = 0
    private var headerList: UnsafeMutablePointer<curl_slist>?
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
        serial: UInt64,
        continuation: UnsafeContinuation<Result<HTTPReply, CurlError>, Never>
    ) -> Bool {
        self.serial = serial
        self.continuation = continuation
        deadline = .now + request.timeout
        isPlain = request.url.isPlain
        maxReplyBytes = request.maxReplyBytes
        uploadBytes = request.body?.count ?? 0
        guard setHeaders(request), setMethod(request) else { return false }
        return set(CURLOPT_URL, request.url.text)
            && set(CURLOPT_TIMEOUT_MS, request.timeout.wholeMilliseconds)
            && set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
            && set(CURLOPT_FRESH_CONNECT, request.reusesConnection ? 0 : 1)
            && set(CURLOPT_HTTP_VERSION, Int(isPlain ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
            // Rather a stream on the connection that is being made than one more handshake. In plain text nobody would
            // know before the first reply whether streams are to be had, and a server that hangs never tells.
            && set(CURLOPT_PIPEWAIT, isPlain ? 0 : 1)
    }

    /// Gives the caller its outcome and forgets the call. `code` is libcurl's verdict.
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

    /// How far the call has come, for one that is ended because its time is up.
    var phase: CurlError.TimeoutPhase {
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
        let continuation = self.continuation
        self.continuation = nil
        continuation?.resume(returning: result)
    }

    // MARK: Options

    private func setLastingOptions(_ configuration: CurlConfiguration) -> Bool {
        let own = Unmanaged.passUnretained(self).toOpaque()
        let halfLife = max(1, configuration.addressSeconds / 2)
        return set(CURLOPT_NOSIGNAL, 1)
            && set(CURLOPT_PROTOCOLS_STR, "http,https")
            && set(CURLOPT_FOLLOWLOCATION, 0)
            && set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
            && set(CURLOPT_PATH_AS_IS, 1)
            // The empty name switches proxies off, those of the environment too.
            && set(CURLOPT_PROXY, "")
            && set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
            && set(CURLOPT_SSL_VERIFYPEER, 1)
            && set(CURLOPT_SSL_VERIFYHOST, 2)
            && set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
            && (configuration.caFile.map { set(CURLOPT_CAINFO, $0) } ?? true)
            && set(CURLOPT_ACCEPT_ENCODING, "gzip")
            && set(CURLOPT_USERAGENT, configuration.userAgent)
            && set(CURLOPT_TCP_KEEPALIVE, 1)
            && set(CURLOPT_TCP_KEEPIDLE, 15)
            && set(CURLOPT_TCP_KEEPINTVL, 5)
            && set(CURLOPT_DNS_CACHE_TIMEOUT, halfLife)
            && set(CURLOPT_MAXLIFETIME_CONN, halfLife)
            // Without it, ending a call whose name is still being resolved waits for the resolver, and all calls with it.
            && set(CURLOPT_QUICK_EXIT, 1)
            // The least that libcurl takes: replies are small, and thousands of calls may hang at once.
            && set(CURLOPT_BUFFERSIZE, Self.bufferBytes)
            && set(CURLOPT_UPLOAD_BUFFERSIZE, 16384)
            && curl_setopt_write(handle, CURLOPT_HEADERFUNCTION, receiveHeader) == CURLE_OK
            && curl_setopt_write(handle, CURLOPT_WRITEFUNCTION, receiveBody) == CURLE_OK
            && curl_setopt_opensocket(handle, CURLOPT_OPENSOCKETFUNCTION, openSocket) == CURLE_OK
            && set(CURLOPT_HEADERDATA, own)
            && set(CURLOPT_WRITEDATA, own)
            && set(CURLOPT_OPENSOCKETDATA, own)
            && set(CURLOPT_PRIVATE, own)
    }

    private static let bufferBytes = 2048

    private func setMethod(_ request: HTTPRequest) -> Bool {
        let verb = request.method == .delete ? "DELETE" : nil
        guard request.method == .post || request.body != nil else {
            return set(CURLOPT_HTTPGET, 1) && set(CURLOPT_CUSTOMREQUEST, verb)
        }
        return (request.body ?? []).withUnsafeBytes { bytes in
            set(CURLOPT_POST, 1)
                && set(CURLOPT_CUSTOMREQUEST, verb)
                && curl_setopt_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)) == CURLE_OK
                // Never null, which would make libcurl read the body from standard input.
                && curl_setopt_bytes(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(handle))
                    == CURLE_OK
        }
    }

    private func setHeaders(_ request: HTTPRequest) -> Bool {
        for line in request.headerLines {
            guard append(line) else { return false }
        }
        // A large body would otherwise wait a second for a `100 Continue`.
        if request.body != nil, !append("Expect:") { return false }
        return curl_setopt_list(handle, CURLOPT_HTTPHEADER, headerList) == CURLE_OK
    }

    private func append(_ line: String) -> Bool {
        guard let longer = curl_slist_append(headerList, line) else { return false }
        headerList = longer
        return true
    }

    private func set(_ option: CURLoption, _ value: Int) -> Bool {
        curl_setopt_long(handle, option, value) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ value: String?) -> Bool {
        curl_setopt_string(handle, option, value) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) -> Bool {
        curl_setopt_pointer(handle, option, value) == CURLE_OK
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

    /// Whether the request may have reached the server as a whole. True when in doubt: a part of the head that was
    /// written counts as all of it.
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
    fileprivate func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
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
    fileprivate func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= maxReplyBytes - body.count else {
            verdict = .replyTooLarge
            return false
        }
        body.append(contentsOf: piece)
        return true
    }

    /// Opens the socket for a connection, or refuses: plain http never leaves this machine, whatever a name resolves to.
    fileprivate func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        let target = (UnsafeRawPointer(address) + offset).assumingMemoryBound(to: sockaddr.self)
        guard !isPlain || LoopbackAddress.contains(target, length: socklen_t(address.pointee.addrlen)) else {
            verdict = .invalidRequest(.plainHTTPBeyondLoopback)
            return CURL_SOCKET_BAD
        }
        let descriptor = socket(
            address.pointee.family,
            address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol
        )
        guard descriptor >= 0 else { return CURL_SOCKET_BAD }
        var limit = unacknowledgedMilliseconds
        setsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_USER_TIMEOUT,
            &limit,
            socklen_t(MemoryLayout<Int32>.size)
        )
        return descriptor
    }
}

private func transfer(_ context: UnsafeMutableRawPointer) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

private let receiveHeader: curl_write_callback = { bytes, _, count, context in
    guard let context else { return 0 }
    return transfer(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}

private let receiveBody: curl_write_callback = { bytes, _, count, context in
    guard let context else { return 0 }
    return transfer(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}

private let openSocket: curl_opensocket_callback = { context, _, address in
    guard let context, let address else { return CURL_SOCKET_BAD }
    return transfer(context).open(address)
}
