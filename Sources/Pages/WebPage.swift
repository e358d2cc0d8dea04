package import Domain
package import HTTP
package import HTTPTypes
package import Hummingbird

/// Creates the pages that the users of an application see, in one language.
///
/// A page loads nothing: its style, its scripts and the application's logo are in the page itself.
package struct WebPage: Sendable {
    package let words: PageWords
    private let name: String?
    private let settings: PageSettings

    /// Chooses the look and the language of the pages that respond to a request.
    ///
    /// - Parameters:
    ///   - application: The application whose look the pages have; nil if the request names no known application.
    ///   - headers: The request's headers. `Accept-Language` selects the language.
    package init(of application: Domain.Application?, for headers: HTTPFields) {
        words = PageWords(in: PageLanguage(accepting: headers[.acceptLanguage]), of: application?.name ?? "")
        name = application?.name
        settings = application?.settings.pages ?? PageSettings()
    }

    /// Returns a page that reports a failure.
    package func failure(_ failure: Failure, _ title: PageText, by errors: any ErrorTable) -> Response {
        var headers = HTTPFields()
        headers[.retryAfter] = errors.retryAfter(failure)
        return response(
            title,
            "<p>\(words.failure(failure))</p>",
            status: errors.status(of: failure.reason),
            headers: headers
        )
    }

    /// Returns a page with a form.
    ///
    /// The page also shows `problem`, the failure of the user's previous attempt with this form.
    package func question(
        _ title: PageText,
        _ body: HTML,
        problem: Failure?,
        by errors: any ErrorTable,
        script: InlineAsset? = nil,
        headers: HTTPFields = HTTPFields(),
        sendsForms: Bool = true,
        formTarget: String? = nil
    ) -> Response {
        var headers = headers
        headers[.retryAfter] = problem.flatMap { errors.retryAfter($0) }
        return response(
            title,
            "\(problem.map { HTML.alert(words.failure($0)) })\(body)",
            script: script,
            status: problem.map { errors.status(of: $0.reason) } ?? .ok,
            headers: headers,
            sendsForms: sendsForms,
            formTarget: formTarget
        )
    }

    /// Returns a page that may load nothing and execute only `script`.
    ///
    /// With `sendsForms`, the page may send forms to its own origin. The service may respond to a form with a redirect.
    /// `formTarget` is a further origin to which browsers follow such a redirect. Only pages of the origins `framedBy`
    /// may show the page in a frame.
    package func response(
        _ title: PageText,
        _ body: HTML,
        script: InlineAsset? = nil,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = HTTPFields(),
        sendsForms: Bool = false,
        formTarget: String? = nil,
        framedBy origins: [String] = []
    ) -> Response {
        let styles = "style-src \(PageStyle.sheet.source) \(PageStyle.colors(of: settings).source)"
        let scripts = script.map { "script-src \($0.source)" }
        let images = settings.logo.map { _ in "img-src data:" }
        var headers = headers
        headers[.contentLanguage] = words.language.rawValue
        headers[.referrerPolicy] = headers[.referrerPolicy] ?? "no-referrer"
        return .page(
            document(title, "\(body)\(script.map { "\n<script>\($0.text)</script>" as HTML })"),
            status: status,
            headers: headers,
            sources: [scripts, styles, images].compactMap(\.self).joined(separator: "; "),
            forms: sendsForms ? "'self'" + (formTarget.map { " \($0)" } ?? "") : "'none'",
            framedBy: origins
        )
    }

    func document(_ title: PageText, _ body: HTML) -> HTML {
        let title = words(title)
        // The name is beside the logo, so screen readers may skip the image.
        let logo = settings.logo.map { "<img src=\"\($0.address)\" alt=\"\">" as HTML }
        let header = name.map { "<header>\(logo)<p>\($0)</p></header>\n" as HTML }
        return .document(
            name.map { "\(title) – \($0)" } ?? title,
            in: words.language,
            head: """
                <meta name="robots" content="noindex">
                <style>\(PageStyle.sheet.text)</style>
                <style>\(PageStyle.colors(of: settings).text)</style>
                """,
            """
            <div class="card">
            \(header)<main>
            <h1>\(title)</h1>
            \(body)
            </main>
            </div>
            """
        )
    }
}
