import HTTP
package import HTTPTypes
package import Hummingbird
import NIOCore

extension HTML {
    /// Returns an HTML document.
    ///
    /// `head` contains further elements of the document's head.
    package static func document(
        _ title: HTML,
        in language: PageLanguage = .english,
        head: HTML,
        _ body: HTML
    ) -> HTML {
        """
        <!DOCTYPE html>
        <html lang="\(language)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title)</title>
        \(head)
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }
}

extension Response {
    /// Returns a response with an HTML document, or with a part of one that a script has requested.
    ///
    /// No cache stores the response. Only pages of the origins `framedBy` may show it in a frame. The content security
    /// policy names what the document may load and execute (`sources`), and where its forms may be sent (`forms`).
    package static func page(
        _ html: HTML,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields,
        sources: String,
        forms: String,
        framedBy origins: [String] = []
    ) -> Response {
        let frames = origins.isEmpty ? "'none'" : origins.joined(separator: " ")
        var headers = headers
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] =
            "default-src 'none'; \(sources); base-uri 'none'; form-action \(forms); frame-ancestors \(frames)"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html.text)))
    }
}

extension HTTPFields {
    /// The HTTP headers of pages that need a session.
    ///
    /// They keep other sites from controlling a window with such a page, and from embedding parts of the page.
    ///
    /// The referrer policy is not `no-referrer`, because browsers would then omit the origin when they send a form.
    package static let ofSessions: HTTPFields = [
        .referrerPolicy: "same-origin", .openerPolicy: "same-origin", .resourcePolicy: "same-origin",
    ]
}

extension HTTPField.Name {
    package static let clearSiteData = HTTPField.Name(known: "Clear-Site-Data")
    package static let openerPolicy = HTTPField.Name(known: "Cross-Origin-Opener-Policy")
    package static let resourcePolicy = HTTPField.Name(known: "Cross-Origin-Resource-Policy")
}
