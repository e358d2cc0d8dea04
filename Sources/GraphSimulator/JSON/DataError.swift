extension GraphSimulator {
    /// Data that cannot be used: which entry, and why.
    public struct DataError: Error, Sendable, CustomStringConvertible {
        /// Where it is: `people[2].email`, or a line and column of the text.
        public let path: String
        /// What is wrong with it, in a few words.
        public let reason: String

        /// `people[2].email: expected a string`.
        public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }

        init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }
}

typealias DataError = GraphSimulator.DataError
