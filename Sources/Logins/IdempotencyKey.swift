import Domain
package import Encodings
import Secrets

/// The `Idempotency-Key` of a request and its retries, bound to method, path and body.
///
/// A request with another body under the same key is a different request. It must not get the response to the first
/// request.
package struct IdempotencyKey: Sendable {
    /// The value that is stored with a used credential.
    ///
    /// Only a retry of the same request under the same key has an equal value.
    let owner: [UInt8]

    private static let keyBytes = 32

    /// - Parameters:
    ///   - text: The header as received.
    ///   - method: The method of the request.
    ///   - path: The path of the request, as received.
    ///   - body: The body of the request. The order of its members does not count, since a client that encodes the body
    ///     again may change the order.
    package init(_ text: String, method: String, path: String, body: JSONObject) {
        // The length prefix keeps different parts from joining to the same text.
        let request = [method, path, JSONValue.object(body).ordered.text].map { "\($0.utf8.count) \($0)" }.joined()
        owner = Digest.sha256("idempotency key " + text) + Digest.sha256(request)
    }

    /// Throws an error if a different request has used up the credential under the same `Idempotency-Key`.
    ///
    /// A request is different if it has another method, path or body.
    ///
    /// - Parameter owner: The ``owner`` of the request that has used up the credential.
    /// - Throws: `idempotency_key_reused`.
    func requireSameRequest(as owner: [UInt8]) throws(Failure) {
        guard owner.prefix(Self.keyBytes) == self.owner.prefix(Self.keyBytes), owner != self.owner else { return }
        throw Failure(
            .idempotencyKeyReused,
            """
            This Idempotency-Key was used with another request. A retry must have the same method, path and body. Use \
            a new key for a new request.
            """
        )
    }
}
