package import HTTPTypes
package import Hummingbird
import NIOCore
package import Vocabulary

/// The pages that a person sees of an application, in one language.
///
/// They are texts of ours and load nothing: style, scripts and the application's logo are in the page.
package struct WebPage: Sendable {
    package let language: PageLanguage
    private let name: String?
    private let settings: PageSettings

    /// Makes pages.
    ///
    /// - Parameters:
    ///   - application: Whose look they have; nil where none was found.
    ///   - headers: Of the request: what the browser's reader speaks.
    package init(of application: Vocabulary.Application?, for headers: HTTPFields) {
        language = PageLanguage(accepting: headers[.acceptLanguage])
        name = application?.name
        settings = application?.settings.pages ?? PageSettings()
    }

    /// A page that tells why something does not go on.
    package func failure(_ failure: Failure, _ title: PageText, by errors: some ErrorTable) -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = errors.retryAfter(failure)
        return response(
            title,
            "<p>\(language(.failure(failure)))</p>",
            status: errors.status(of: failure.reason),
            headers: headers
        )
    }

    /// A page whose policy lets it load nothing, execute nothing but the script of that digest, and send forms to its
    /// own origin at most.
    ///
    /// Browsers hold the redirect that answers a form to the policy, too: `formTarget` is where it may lead besides.
    package func response(
        _ title: PageText,
        _ body: HTML,
        script digest: String? = nil,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields(),
        sendsForms: Bool = false,
        formTarget: String? = nil
    ) -> Response {
        let html = document(title, body)
        let forms = sendsForms ? "'self'" + (formTarget.map { " \($0)" } ?? "") : "'none'"
        let scripts = digest.map { "script-src 'sha256-\($0)'; " } ?? ""
        let colors = PageStyle.colors(of: settings).digest
        let images = settings.logo == nil ? "" : "img-src data:; "
        var headers = headers
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.contentLanguage] = language.rawValue
        headers[.cacheControl] = "no-store"
        headers[.contentSecurityPolicy] =
            """
            default-src 'none'; \(scripts)style-src 'sha256-\(PageStyle.sheetDigest)' 'sha256-\(colors)'; \(images)\
            base-uri 'none'; form-action \(forms); frame-ancestors 'none'
            """
        headers[.referrerPolicy] = headers[.referrerPolicy] ?? "no-referrer"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html.text)))
    }

    func document(_ title: PageText, _ body: HTML) -> HTML {
        let colors = PageStyle.colors(of: settings).sheet
        let title = language(title)
        let whole = name.map { "\(title) – \($0)" as HTML } ?? title
        // The name stands beside it, so a reader that speaks need not hear of the picture.
        let logo: HTML = settings.logo.map { "<img src=\"\($0.address)\" alt=\"\">" } ?? ""
        let header: HTML = name.map { "<header>\(logo)<p>\($0)</p></header>\n" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="\(language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <title>\(whole)</title>
            <style>\(HTML(markup: PageStyle.sheet))</style>
            <style>\(HTML(markup: colors))</style>
            </head>
            <body>
            <div class="card">
            \(header)<main>
            <h1>\(title)</h1>
            \(body)
            </main>
            </div>
            </body>
            </html>

            """
    }
}
