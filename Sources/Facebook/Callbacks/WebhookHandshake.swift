package import Domain
import Encodings

/// Facebook's request that verifies the ownership of a webhook's address (docs/protocols/facebook.md §5.4).
package struct WebhookHandshake: Sendable {
    private let mode: String?
    private let challenge: String?
    private let verifyToken: String?

    /// Reads the query.
    ///
    /// - Throws: `malformed_request` when a parameter occurs twice.
    package init(_ query: FormFields) throws(Failure) {
        mode = try query.value("hub.mode")
        challenge = try query.value("hub.challenge")
        verifyToken = try query.value("hub.verify_token")
    }

    /// Returns the challenge, which is the response.
    ///
    /// Only digits, Facebook's form, are echoed, so that attackers cannot make a page with a text of their choice.
    ///
    /// - Parameter expected: The token that the operator chose; nil refuses every request.
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
