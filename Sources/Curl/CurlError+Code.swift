internal import CLibCurl

extension CurlError {
    /// Creates the error that corresponds to libcurl's result code of a failed transfer.
    ///
    /// - Parameters:
    ///   - code: The result code; not `CURLE_OK`.
    ///   - phase: The phase that the call had reached.
    ///   - isRequestSent: Whether the server may have the whole request.
    ///   - hasReplyBegun: Whether a header line of the response was read.
    ///   - errno: The system's error number of a failed connect, or 0.
    ///   - certificateVerdict: The number of OpenSSL's error for the server's certificate, or 0.
    init(
        _ code: CURLcode,
        phase: TimeoutPhase,
        isRequestSent: Bool,
        hasReplyBegun: Bool,
        errno: Int32,
        certificateVerdict: Int
    ) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            self = .resolve
        case CURLE_COULDNT_CONNECT:
            self = .connect(errno: errno)
        case CURLE_OPERATION_TIMEDOUT:
            self = .timeout(phase)
        case CURLE_PEER_FAILED_VERIFICATION:
            self = .tls(TLSFailure(certificateVerdict: certificateVerdict))
        case CURLE_SSL_CACERT_BADFILE:
            self = .tls(.authorityFileUnreadable)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS:
            self = .tls(.handshake)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_UPLOAD_FAILED:
            self = .reset(requestSent: isRequestSent || hasReplyBegun)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            self = .badReply
        // libcurl's code for a response that does not begin with `HTTP/`.
        case CURLE_UNSUPPORTED_PROTOCOL where phase == .waiting:
            self = .badReply
        // A single header line beyond libcurl's own limit, which is above the limit of this client.
        case CURLE_OUT_OF_MEMORY where phase == .waiting:
            self = .replyTooLarge
        default:
            self = .library(code: code.rawValue)
        }
    }
}

extension CurlError.TLSFailure {
    /// Creates the failure for the `X509_V_ERR_` number that libcurl reports from OpenSSL.
    ///
    /// libcurl checks the host name before it reads the number from OpenSSL. So the numbers 0 and 1 mean that the host
    /// name does not match the certificate.
    init(certificateVerdict: Int) {
        switch certificateVerdict {
        case 0, 1, 62: self = .certificateOfAnotherHost
        case 9: self = .certificateNotYetValid
        case 10: self = .certificateExpired
        case 18, 19: self = .certificateSelfSigned
        case 2, 20, 21: self = .certificateIssuerUnknown
        default: self = .certificateInvalid
        }
    }
}
