internal import CLibCurl

extension HTTPTransfer {
    /// Sets the options that apply to every call; returns whether libcurl accepted all of them.
    func setLastingOptions(_ configuration: CurlConfiguration) -> Bool {
        let own = Unmanaged.passUnretained(self).toOpaque()
        let halfLife = max(1, configuration.addressSeconds / 2)
        return set(CURLOPT_NOSIGNAL, 1)
            && set(CURLOPT_PROTOCOLS_STR, "http,https")
            && set(CURLOPT_FOLLOWLOCATION, 0)
            && set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
            && set(CURLOPT_PATH_AS_IS, 1)
            // The empty name turns proxies off, also those of the environment.
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
            // Without this, ending a call during name resolution blocks until the resolver is done, and blocks all
            // other calls.
            && set(CURLOPT_QUICK_EXIT, 1)
            // Small, since responses are small and thousands of calls may be in flight.
            && set(CURLOPT_BUFFERSIZE, 2048)
            && set(CURLOPT_UPLOAD_BUFFERSIZE, 16384)
            && curl_setopt_write(handle, CURLOPT_HEADERFUNCTION, receiveHeader) == CURLE_OK
            && curl_setopt_write(handle, CURLOPT_WRITEFUNCTION, receiveBody) == CURLE_OK
            && curl_setopt_opensocket(handle, CURLOPT_OPENSOCKETFUNCTION, openSocket) == CURLE_OK
            && set(CURLOPT_HEADERDATA, own)
            && set(CURLOPT_WRITEDATA, own)
            && set(CURLOPT_OPENSOCKETDATA, own)
    }

    func setMethod(_ request: HTTPRequest) -> Bool {
        let verb = request.method == .delete ? "DELETE" : nil
        guard request.method == .post || request.body != nil else {
            return set(CURLOPT_HTTPGET, 1) && set(CURLOPT_CUSTOMREQUEST, verb)
        }
        return (request.body ?? []).withUnsafeBytes { bytes in
            set(CURLOPT_POST, 1)
                && set(CURLOPT_CUSTOMREQUEST, verb)
                && curl_setopt_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)) == CURLE_OK
                // Never null, since libcurl would then read the body from standard input.
                && curl_setopt_bytes(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(handle))
                    == CURLE_OK
        }
    }

    func setHeaders(_ request: HTTPRequest) -> Bool {
        for line in request.headerLines {
            guard append(line) else { return false }
        }
        // Otherwise libcurl would wait up to a second for a `100 Continue` before it sends a large body.
        if request.body != nil, !append("Expect:") { return false }
        return curl_setopt_list(handle, CURLOPT_HTTPHEADER, headerList) == CURLE_OK
    }

    private func append(_ line: String) -> Bool {
        guard let longer = curl_slist_append(headerList, line) else { return false }
        headerList = longer
        return true
    }
}

private func transfer(_ context: UnsafeMutableRawPointer) -> HTTPTransfer {
    Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
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
