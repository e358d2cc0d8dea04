package import Vocabulary

/// The question by which Facebook makes sure that a webhook's address is ours (docs/protocols/facebook.md §5.4).
package struct WebhookHandshake: Sendable {
    private let mode: String?
    private let challenge: String?
    private let verifyToken: String?

    /// Reads a query.
    ///
    /// - Throws: `malformed_request` when a parameter is there twice.
    package init(_ query: FormFields) throws(Failure) {
        mode = try query.value("hub.mode")
        challenge = try query.value("hub.challenge")
        verifyToken = try query.value("hub.verify_token")
    }

    /// The challenge, which is the answer.
    ///
    /// Only digits are repeated, as Facebook sends them: a page that says what a stranger wants is of use to strangers.
    ///
    /// - Parameter expected: The token that the operator chose; nil when there is none, and then nobody gets an answer.
    /// - Returns: The digits.
    /// - Throws: `callback_refused`, `malformed_request`.
    package func answer(expecting expected: Secret?) throws(Failure) -> String {
        guard let expected = expected?.reveal() else { throw Self.refusal("the application has no webhookVerifyToken") }
        guard let verifyToken, verifyToken.utf8.isEqualInConstantTime(to: expected.utf8), !expected.utf8.isEmpty else {
            throw Self.refusal("hub.verify_token is not the application's webhookVerifyToken")
        }
        guard let mode, mode.hasSameBytes(as: "subscribe"), let challenge, (1...32).contains(challenge.utf8.count),
            challenge.utf8.allSatisfy(\.isASCIIDigit)
        else {
            throw Failure(.malformedRequest, "hub.mode must be subscribe, and hub.challenge 1 to 32 digits.")
        }
        return challenge
    }

    private static func refusal(_ problem: StaticString) -> Failure {
        Failure(.callbackRefused, "This webhook is not confirmed: \(problem).", cause: "webhook refused: \(problem)")
    }
}
