import Encodings
package import Hummingbird

/// The last pages of a login in a popup window, which send the result to the page that opened the popup.
extension WebPage {
    /// Returns the page that posts a JSON message to the window that opened it, and then closes.
    ///
    /// The message and the origin are in elements that no browser executes. The script is constant, and the content
    /// security policy allows only this script, by its digest. The script posts the message to exactly the given
    /// origin. If the opener has another origin, the browser drops the message.
    package func handOver(_ message: [UInt8], to origin: String, succeeded: Bool) -> Response {
        let body: HTML = """
            <p>\(words(succeeded ? .loggedIn : .notLoggedIn)) \(words(.closeWindow))</p>
            \(Self.elements(message, origin))
            """
        return response(.login, body, script: .handOver)
    }

    /// Returns a page that shows content, such as new recovery codes, and has a button.
    ///
    /// When the user presses the button, the page posts a JSON message to the window that opened it.
    package func handOver(_ message: [UInt8], to origin: String, after body: HTML, _ title: PageText) -> Response {
        let body: HTML = """
            \(body)
            <p><button id="done">\(words(.codesAreKept))</button></p>
            \(Self.elements(message, origin))
            """
        return response(title, body, script: .lateHandOver)
    }

    private static func elements(_ message: [UInt8], _ origin: String) -> HTML {
        var target = JSONWriter(capacity: 64)
        target.string(origin)
        return """
            <script type="application/json" id="message">\(HTML(json: message))</script>
            <script type="application/json" id="origin">\(HTML(json: target.bytes))</script>
            """
    }
}

extension InlineAsset {
    static let handOver = InlineAsset(PackageResources.handOver_js)
    static let lateHandOver = InlineAsset(PackageResources.lateHandOver_js)
    /// The script that creates or uses a passkey in the browser when the user sends a form.
    ///
    /// The form then contains the passkey's response as RegistrationResponseJSON or AuthenticationResponseJSON
    /// (WebAuthn level 3 §5.1). The script writes this JSON itself, since some browsers cannot.
    package static let passkey = InlineAsset(PackageResources.passkey_js)
}
