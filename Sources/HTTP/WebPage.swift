package import HTTPTypes
package import Hummingbird
import NIOCore
package import Vocabulary

/// The pages that a person can come to see: static texts of ours, which need no image, font or style from anywhere.
package enum WebPage {
    /// A page that tells why a login does not go on.
    package static func failure(_ failure: Failure, by errors: some ErrorTable) -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = errors.retryAfter(failure)
        return response(
            title: "Login",
            body: "<p>\(escaped(failure.message))</p>",
            script: nil,
            status: errors.status(of: failure.reason),
            headers: headers
        )
    }

    /// The page that hands a JSON text to the page that opened it, if that is of the origin, and closes.
    ///
    /// The text and the origin stand in elements that no browser executes; the script itself is always the same, so its
    /// digest in the policy admits it and no other.
    package static func handOver(_ message: [UInt8], to origin: String, succeeded: Bool) -> Response {
        var target = JSONWriter(capacity: 64)
        target.string(origin)
        let told = succeeded ? "You are logged in." : "The login did not succeed."
        let body = """
            <p>\(told) You can close this window.</p>
            <script type="application/json" id="message">\(embedded(message))</script>
            <script type="application/json" id="origin">\(embedded(target.bytes))</script>
            <script>\(handOverScript)</script>
            """
        return response(title: "Login", body: body, script: handOverDigest, status: .ok)
    }

    /// Posts to exactly that origin: the browser drops the message when the opener is of another one.
    static let handOverScript = """
        const text = id => document.getElementById(id).textContent;
        if (window.opener) window.opener.postMessage(text("message"), JSON.parse(text("origin")));
        window.close();
        """
    /// SHA-256 of the script as base64; a test holds it to the script.
    static let handOverDigest = "I0TnLI9G/OQsQAHQVNQB8jS2bteLIXvKfPoJ2TKAzoI="

    /// The page that shows something that is shown once, and hands the text over when its reader is through with it.
    package static func handOver(_ message: [UInt8], to origin: String, after body: String) -> Response {
        var target = JSONWriter(capacity: 64)
        target.string(origin)
        let body = """
            \(body)
            <p><button id="done">I have kept them</button></p>
            <script type="application/json" id="message">\(embedded(message))</script>
            <script type="application/json" id="origin">\(embedded(target.bytes))</script>
            <script>\(lateHandOverScript)</script>
            """
        return response(title: "Login", body: body, script: lateHandOverDigest, status: .ok)
    }

    static let lateHandOverScript = """
        const text = id => document.getElementById(id).textContent;
        document.getElementById("done").onclick = () => {
            if (window.opener) window.opener.postMessage(text("message"), JSON.parse(text("origin")));
            window.close();
        };
        """
    /// SHA-256 of the script as base64; a test holds it to the script.
    static let lateHandOverDigest = "8inx4izn9dRS3qIqC2cN0hXAUjRkQUZ0ohknWcCEOC0="

    /// A page whose policy lets it load nothing, execute nothing but the script of that digest, and send forms to its
    /// own origin at most.
    ///
    /// Browsers hold the redirect that answers a form to the policy, too: `formTarget` is where it may lead besides.
    package static func response(
        title: String,
        body: String,
        script digest: String?,
        status: HTTPResponse.Status,
        headers: HTTPFields = HTTPFields(),
        sendsForms: Bool = false,
        formTarget: String? = nil
    ) -> Response {
        let html = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>\(title)</title>
            </head>
            <body>
            \(body)
            </body>
            </html>

            """
        let forms = sendsForms ? "'self'" + (formTarget.map { " \($0)" } ?? "") : "'none'"
        let scripts = digest.map { "script-src 'sha256-\($0)'; " } ?? ""
        var headers = headers
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] =
            """
            default-src 'none'; \(scripts)base-uri 'none'; form-action \(forms); \
            frame-ancestors 'none'
            """
        headers[.referrerPolicy] = "no-referrer"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    /// JSON that cannot end the element it stands in: `<`, `>` and `&` occur within its texts only, where they may be
    /// escaped.
    static func embedded(_ json: [UInt8]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.count)
        for byte in json {
            switch byte {
            case UInt8(ascii: "<"): bytes.append(contentsOf: #"\u003C"#.utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: #"\u003E"#.utf8)
            case UInt8(ascii: "&"): bytes.append(contentsOf: #"\u0026"#.utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A text as it stands in an element or an attribute.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
