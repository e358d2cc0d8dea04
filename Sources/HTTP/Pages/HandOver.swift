package import Hummingbird
import Vocabulary

/// The pages at the end of a login by popup.
extension WebPage {
    /// The page that hands a JSON text to the page that opened it, if that is of the origin, and closes.
    ///
    /// The text and the origin stand in elements that no browser executes; the script itself is always the same, so its
    /// digest in the policy admits it and no other.
    package func handOver(_ message: [UInt8], to origin: String, succeeded: Bool) -> Response {
        let body: HTML = """
            <p>\(language(succeeded ? .loggedIn : .notLoggedIn)) \(language(.closeWindow))</p>
            \(Self.elements(message, origin))
            <script>\(HTML(markup: Self.handOverScript))</script>
            """
        return response(.login, body, script: Self.handOverDigest)
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
    package func handOver(_ message: [UInt8], to origin: String, after body: HTML, _ title: PageText) -> Response {
        let body: HTML = """
            \(body)
            <p><button id="done">\(language(.codesAreKept))</button></p>
            \(Self.elements(message, origin))
            <script>\(HTML(markup: Self.lateHandOverScript))</script>
            """
        return response(title, body, script: Self.lateHandOverDigest)
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

    private static func elements(_ message: [UInt8], _ origin: String) -> HTML {
        var target = JSONWriter(capacity: 64)
        target.string(origin)
        return """
            <script type="application/json" id="message">\(HTML(json: message))</script>
            <script type="application/json" id="origin">\(HTML(json: target.bytes))</script>
            """
    }
}
