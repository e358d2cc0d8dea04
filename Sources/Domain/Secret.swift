/// A text that must not appear in logs, responses or descriptions: every way to print it prints `•••`.
package struct Secret: Sendable {
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Returns the text.
    ///
    /// Each call must be reviewed, since the text must not reach a log or a response.
    package func reveal() -> String { text }

    /// The number of bytes of the text in UTF-8.
    package var byteCount: Int { text.utf8.count }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
