internal import CLibCurl

/// The sending of one mail to a server, with one easy handle of libcurl that is used once.
///
/// The meaning of a failure depends on how far the SMTP dialogue has come, which libcurl's codes do not tell. So the
/// transfer reads every line of the server, and counts the bytes of the mail that libcurl has taken.
final class SMTPTransfer: Transfer {
    let handle: UnsafeMutableRawPointer
    private let mail: SMTPMail
    private let continuation: CallContinuation<SMTPReply, SMTPFailure>
    private let recipients: UnsafeMutablePointer<curl_slist>
    /// The call of this transfer, kept alive because libcurl's messages refer to it by its address.
    private var call: Call?
    private let deadline: ContinuousClock.Instant
    private let connectDeadline: ContinuousClock.Instant
    private var isPlain = false
    private var unacknowledgedMilliseconds: Int32 = 0

    /// The number of content bytes that libcurl has taken.
    private var taken = 0
    /// The lines of a reply that have been read; the reply's last line is still missing.
    private var lines: [[UInt8]] = []
    private var lastReply: SMTPReply?
    /// The server's reply to the whole mail.
    private var answer: SMTPReply?
    private var isFinished = false

    /// Creates a transfer; nil if memory is lacking.
    init?(_ mail: SMTPMail, _ continuation: CallContinuation<SMTPReply, SMTPFailure>) {
        guard let recipients = curl_slist_append(nil, "<\(mail.recipient)>") else { return nil }
        guard let handle = curl_easy_init() else {
            curl_slist_free_all(recipients)
            return nil
        }
        self.handle = handle
        self.recipients = recipients
        self.mail = mail
        self.continuation = continuation
        deadline = .now + mail.timeout
        connectDeadline = .now + mail.connectTimeout
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(recipients)
    }

    /// Sets all options; returns whether libcurl accepted them.
    ///
    /// `finish` must be called in either case.
    func prepare(for call: Call, by server: SMTPServer, _ configuration: CurlConfiguration) -> Bool {
        self.call = call
        isPlain = server.security == .none
        unacknowledgedMilliseconds = Int32(
            clamping: Duration.seconds(configuration.unacknowledgedSeconds).wholeMilliseconds
        )
        return set(CURLOPT_PRIVATE, call) && setConnection(server, configuration) && setMail()
    }

    private func setConnection(_ server: SMTPServer, _ configuration: CurlConfiguration) -> Bool {
        let usesTLS = server.security == .startTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE
        return set(CURLOPT_NOSIGNAL, 1)
            && set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
            // libcurl sends the path as the client's name.
            && set(CURLOPT_URL, "\(server.origin)/\(mail.clientName)")
            && (server.user.map { set(CURLOPT_USERNAME, $0) } ?? true)
            && (server.password.map { set(CURLOPT_PASSWORD, $0) } ?? true)
            && set(CURLOPT_USE_SSL, Int(usesTLS.rawValue))
            && set(CURLOPT_SSL_VERIFYPEER, 1)
            && set(CURLOPT_SSL_VERIFYHOST, 2)
            && set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
            && (configuration.caFile.map { set(CURLOPT_CAINFO, $0) } ?? true)
            && set(CURLOPT_PROXY, "")
            && set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
            // libcurl could repeat the mail on a reused connection.
            && set(CURLOPT_FRESH_CONNECT, 1)
            && set(CURLOPT_FORBID_REUSE, 1)
            && set(CURLOPT_TCP_KEEPALIVE, 1)
            && set(CURLOPT_QUICK_EXIT, 1)
            && set(CURLOPT_TIMEOUT_MS, mail.timeout.wholeMilliseconds)
            && set(CURLOPT_CONNECTTIMEOUT_MS, mail.timeout.wholeMilliseconds)
            && set(CURLOPT_SERVER_RESPONSE_TIMEOUT, responseSeconds)
    }

    /// The time limit for each reply of the server, in seconds.
    ///
    /// It is longer than the time limit of the whole call, which therefore passes first.
    private var responseSeconds: Int { mail.timeout.wholeMilliseconds / 1000 + 1 }

    private func setMail() -> Bool {
        let own = Unmanaged.passUnretained(self).toOpaque()
        return set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
            && curl_setopt_list(handle, CURLOPT_MAIL_RCPT, recipients) == CURLE_OK
            && set(CURLOPT_UPLOAD, 1)
            && curl_setopt_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(mail.content.count)) == CURLE_OK
            && curl_setopt_read(handle, CURLOPT_READFUNCTION, giveContent) == CURLE_OK
            && curl_setopt_write(handle, CURLOPT_HEADERFUNCTION, hearReply) == CURLE_OK
            && curl_setopt_opensocket(handle, CURLOPT_OPENSOCKETFUNCTION, openSocket) == CURLE_OK
            && set(CURLOPT_READDATA, own)
            && set(CURLOPT_HEADERDATA, own)
            && set(CURLOPT_OPENSOCKETDATA, own)
    }

    // MARK: Outcome

    func finish(_ code: CURLcode) {
        if let answer {
            // The server's reply to the mail counts, whatever came after it.
            return finish(answer.code < 400 ? .success(answer) : .failure(.mailRefused(answer)))
        }
        if taken < mail.content.count, let lastReply, lastReply.code >= 400 {
            switch code {
            // libcurl's code when the server refuses the sender, the recipient, or the start of the content.
            case CURLE_SEND_ERROR: return finish(.failure(.mailRefused(lastReply)))
            case CURLE_LOGIN_DENIED, CURLE_WEIRD_SERVER_REPLY, CURLE_REMOTE_ACCESS_DENIED:
                return finish(.failure(.refused(lastReply)))
            default: break
            }
        }
        finish(
            CurlError(
                code,
                phase: phase,
                isRequestSent: taken == mail.content.count,
                hasReplyBegun: false,
                errno: Int32(clamping: number(CURLINFO_OS_ERRNO)),
                certificateVerdict: number(CURLINFO_SSL_VERIFYRESULT)
            )
        )
    }

    func finish(_ error: CurlError) {
        finish(.failure(taken < mail.content.count ? .notSent(error) : .uncertain(error)))
    }

    private func finish(_ result: Result<SMTPReply, SMTPFailure>) {
        guard !isFinished else { return }
        isFinished = true
        continuation.resume(returning: result)
    }

    func overduePhase(at now: ContinuousClock.Instant) -> CurlError.TimeoutPhase? {
        now > deadline || now > connectDeadline && lastReply == nil ? phase : nil
    }

    private var phase: CurlError.TimeoutPhase { taken == 0 ? .connecting : .waiting }

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        return curl_getinfo_long(handle, info, &value) == CURLE_OK ? value : 0
    }

    // MARK: Callbacks

    /// Passes the next piece of the content to libcurl; returns its size.
    func give(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let piece = mail.content[taken...].prefix(buffer.count)
        buffer.copyBytes(from: piece)
        taken += piece.count
        return piece.count
    }

    /// Reads one line of the server; the last line of a reply completes the reply.
    func hear(_ line: UnsafeRawBufferPointer) {
        let bytes = line.prefix { $0 != 0x0D && $0 != 0x0A }
        guard bytes.count >= 3, let code = Int(String(decoding: bytes.prefix(3), as: UTF8.self)),
            (200...599).contains(code)
        else { return }
        // Longer replies are cut: only the code matters.
        if lines.count < 10 { lines.append(Array(bytes.dropFirst(4).prefix(512))) }
        guard bytes.count == 3 || bytes[bytes.startIndex + 3] == UInt8(ascii: " ") else { return }
        let reply = SMTPReply(code: code, lines: lines)
        lines = []
        // This is the reply to QUIT, which libcurl sends before it reports the outcome.
        guard code != 221 else { return }
        lastReply = reply
        let isAnswer = taken == mail.content.count && !(300...399).contains(code)
        if isAnswer, answer == nil { answer = reply }
        // libcurl waits for the reply to QUIT on the thread of all calls, so this wait gets a short limit.
        _ = set(CURLOPT_SERVER_RESPONSE_TIMEOUT, isAnswer || code >= 400 ? 1 : responseSeconds)
    }

    /// Opens the socket for a connection.
    ///
    /// If the connection is unencrypted, refuses every address that is not a loopback address. Even the name
    /// `localhost` could resolve to another machine.
    func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard !isPlain || LoopbackAddress.contains(address) else { return CURL_SOCKET_BAD }
        return Socket.open(for: address, unacknowledgedMilliseconds: unacknowledgedMilliseconds)
    }
}

private func transfer(_ context: UnsafeMutableRawPointer) -> SMTPTransfer {
    Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue()
}

private let giveContent: curl_read_callback = { buffer, size, count, context in
    guard let context, let buffer else { return Int(CURL_READFUNC_ABORT) }
    return transfer(context).give(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

private let hearReply: curl_write_callback = { bytes, _, count, context in
    guard let context else { return 0 }
    transfer(context).hear(UnsafeRawBufferPointer(start: bytes, count: count))
    return count
}

private let openSocket: curl_opensocket_callback = { context, _, address in
    guard let context, let address else { return CURL_SOCKET_BAD }
    return transfer(context).open(address)
}
