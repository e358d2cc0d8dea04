// Fuzz — libFuzzer targets for the parsers of untrusted bytes.
//
// It owns one target for each parser (scripts/fuzz), with the promises that the parser keeps for any bytes. It imports
// the modules with @testable and must not know of processes, sockets or a database. The seeds are in
// Tests/FuzzTests/Corpus; FuzzTests feeds them to the targets in every run of the tests.

/// A parser and the promises that it keeps for any bytes.
struct FuzzTarget: Sendable {
    /// The target's name on the command line; the folder of its seeds has the same name.
    let name: String
    /// Feeds an input to the parser and returns whether the parser accepted it.
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

/// An error of a parser that broke one of its promises.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless a promise is kept.
func promise(_ text: @autoclosure () -> String, _ isKept: Bool) throws(BrokenPromise) {
    guard isKept else { throw BrokenPromise(description: "broken promise: \(text())") }
}
