/// A text that must not appear in logs, replies or descriptions: prints `•••` however it is printed.
package struct Secret: Sendable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// The text itself; every call is a place to check by eye.
    package func reveal() -> String { text }

    /// UTF-8 bytes of the text.
    package var byteCount: Int { text.utf8.count }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
