package import Encodings
package import HTTPTypes
package import Hummingbird
import NIOCore

extension Response {
    /// Returns a JSON response that no cache may keep.
    package static func json(
        _ writer: JSONWriter,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields()
    ) -> Response {
        .json(writer.bytes, status: status, headers: headers)
    }

    /// Returns a JSON response that no cache may keep, from JSON that is already written.
    package static func json(
        _ bytes: [UInt8],
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields()
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        return Response(
            status: status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }

    /// Returns a plain-text response that no cache may keep.
    package static func text(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// Returns a redirect with status 303: the browser sends a GET to `url`, without a `Referer` header.
    ///
    /// After a 307, the browser would send the body of its request again.
    package static func seeOther(_ url: String) -> Response {
        var headers: HTTPFields = [.location: url, .cacheControl: "no-store"]
        headers[.referrerPolicy] = "no-referrer"
        return Response(status: .seeOther, headers: headers)
    }
}
