package import HTTPTypes
package import Hummingbird
import NIOCore
package import Vocabulary

extension Response {
    /// A JSON reply that no cache may keep.
    package static func json(
        _ writer: JSONWriter,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields()
    ) -> Response {
        .json(writer.bytes, status: status, headers: headers)
    }

    /// The same, of JSON that is written already.
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

    /// A plain text that no cache may keep.
    package static func text(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// Sends a browser elsewhere with a GET, and tells nobody where it came from: a 307 would take the body along.
    package static func seeOther(_ url: String) -> Response {
        var headers: HTTPFields = [.location: url, .cacheControl: "no-store"]
        headers[.referrerPolicy] = "no-referrer"
        return Response(status: .seeOther, headers: headers)
    }
}
