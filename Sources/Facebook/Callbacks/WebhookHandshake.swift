package import Domain
import Encodings

/// The request by which Facebook verifies that the operator owns the webhook's URL (docs/protocols/facebook.md §5.4).
package struct WebhookHandshake: Sendable {
    private let mode: String?
    private let challenge: String?
    private let verifyToken: String?

    /// Reads the query of the request.
    ///
    /// - Throws: `malformed_request` when a parameter occurs twice.
    package init(_ query: FormFields) throws(Failure) {
        mode = try query.value("hub.mode")
        challenge = try query.value("hub.challenge")
        verifyToken = try query.value("hub.verify_token")
    }

    /// Checks the request and returns its challenge, which is the body of the response.
    ///
    /// Facebook's challenge has only digits. Any other challenge is refused, so that an attacker cannot make the
    /// service respond with a text of the attacker's choice.
    ///
    /// - Parameter expected: The verify token that the operator chose. If it is nil, every request is refused.
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
