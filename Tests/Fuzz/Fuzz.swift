// Fuzz — parsers of untrusted bytes, under attack.
//
// It owns what libFuzzer feeds (scripts/fuzz): a target for each parser, with what that parser promises of whatever
// bytes arrive. It opens the modules with @testable and must not know of processes, sockets or a database. The seeds
// are in Tests/FuzzTests/Corpus; FuzzTests runs them through the targets in every run of the tests.

/// A parser, and what it promises of any bytes.
struct FuzzTarget: Sendable {
    /// The word for it on the command line; its seeds are in the folder of that name.
    let name: String
    /// Feeds the parser with an input.
    ///
    /// Returns whether it was taken.
    ///
    /// - Throws: `BrokenPromise`.
    let feed: @Sendable (_ input: [UInt8]) throws -> Bool

    init(_ name: String, feed: @escaping @Sendable (_ input: [UInt8]) throws -> Bool) {
        self.name = name
        self.feed = feed
    }

    static let all = [
        json, form, email, whereClause, document, idToken, signedRequest, passkey, postgres, proxyHeader,
    ]
}

/// What a parser did although it promises not to.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// Holds a parser to a promise.
func promise(_ text: @autoclosure () -> String, _ isKept: Bool) throws(BrokenPromise) {
    guard isKept else { throw BrokenPromise(description: "broken promise: \(text())") }
}
