internal import CLibCurl

/// A URL that was parsed by the same parser that libcurl uses for a call.
///
/// So libcurl cannot read the URL in another way than the code that checks it.
final class ParsedURL {
    private let handle: OpaquePointer

    /// Parses `text`; `flags` are those of `curl_url_set`.
    ///
    /// - Throws: `CurlError.invalidRequest`.
    init(_ text: String, flags: Int32) throws(CurlError) {
        guard let handle = curl_url() else { throw .library(code: CURLE_OUT_OF_MEMORY.rawValue) }
        self.handle = handle
        switch curl_url_set(handle, CURLUPART_URL, text, UInt32(flags)) {
        case CURLUE_OK: break
        case CURLUE_USER_NOT_ALLOWED: throw .invalidRequest(.userInformationInURL)
        case CURLUE_UNSUPPORTED_SCHEME: throw .invalidRequest(.schemeNotAllowed)
        default: throw .invalidRequest(.malformedURL)
        }
    }

    deinit { curl_url_cleanup(handle) }

    /// Returns a part of the URL as written; nil if it is absent.
    ///
    /// An exception is an IPv4 address in an unusual notation: it is returned in dotted decimal notation.
    func part(_ part: CURLUPart) -> String? { read(part, flags: 0) }

    /// Returns a part after percent-decoding; nil if it is absent or contains a control character.
    func decodedPart(_ part: CURLUPart) -> String? { read(part, flags: CURLU_URLDECODE) }

    private func read(_ part: CURLUPart, flags: Int32) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}
