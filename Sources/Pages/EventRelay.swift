package import Encodings
package import Hummingbird

/// The pages that hand the event of a login to a page of the application: from a window of this service, through a
/// frame of this service in that page.
extension WebPage {
    /// Returns the last page of a login, which hands the event to the frame.
    ///
    /// The page posts the event to frames of its own origin, in the page that opened the window. With a `target`, it
    /// keeps the event for the frame instead, and leads to the target.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - key: The name of the client in the page.
    ///   - target: The address of the page; nil if that page has opened this window.
    ///   - succeeded: Whether the login succeeded.
    /// - Returns: The page.
    package func relay(_ event: JSONObject, of key: String, to target: String?, succeeded: Bool) -> Response {
        var content: JSONObject = ["key": .string(key), "event": .object(event)]
        if let target { content.append("target", .string(target)) }
        let body: HTML = """
            <p>\(words(succeeded ? .loggedIn : .notLoggedIn)) \(words(.closeWindow))</p>
            \(Self.element(content))
            """
        return response(.login, body, script: .relay)
    }

    /// Returns the page for the frame.
    ///
    /// Only pages of the given origins get events from the frame. Any page may show it: on phones and in Safari, the
    /// SDK opens the frame when a page loads, and waits for its answers.
    package func relayFrame(of key: String, in origins: [String]) -> Response {
        let content: JSONObject = ["key": .string(key), "origins": .array(origins.map(JSONValue.string))]
        return response(.login, Self.element(content), script: .relayFrame, framedBy: ["*"])
    }

    private static func element(_ content: JSONObject) -> HTML {
        let json = JSONValue.object(content).bytes
        return "<script type=\"application/json\" id=\"relay\">\(HTML(json: json))</script>"
    }
}

extension InlineAsset {
    fileprivate static let relay = InlineAsset(PackageResources.relay_js)
    fileprivate static let relayFrame = InlineAsset(PackageResources.relayFrame_js)
}
