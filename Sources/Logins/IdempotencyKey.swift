import Domain
package import Encodings
import Secrets

/// The `Idempotency-Key` of a request and its retries, bound to method, path and body.
///
/// Another body under the same key is another request, which must not get the response of the first.
package struct IdempotencyKey: Sendable {
    /// The owner of a single-use credential's use: equal for the same request under the same key, and for nothing else.
    let owner: [UInt8]

    private static let keyBytes = 32

    /// - Parameters:
    ///   - text: The header as received.
    ///   - method: The method of the request.
    ///   - path: The path of the request, as received.
    ///   - body: The body of the request. The order of members does not count, since clients that encode the body again
    ///     change it.
    package init(_ text: String, method: String, path: String, body: JSONObject) {
        // The length prefix keeps different parts from joining to the same text.
        let request = [method, path, JSONValue.object(body).ordered.text].map { "\($0.utf8.count) \($0)" }.joined()
        owner = Digest.sha256("idempotency key " + text) + Digest.sha256(request)
    }

    /// Refuses a request under a key that belongs to another request.
    ///
    /// - Parameter owner: The ``owner`` of the request that has used up the credential.
    /// - Throws: `idempotency_key_reused`.
    func requireSameRequest(as owner: [UInt8]) throws(Failure) {
        guard owner.prefix(Self.keyBytes) == self.owner.prefix(Self.keyBytes), owner != self.owner else { return }
        throw Failure(
            .idempotencyKeyReused,
            """
            This Idempotency-Key came with another request before. A repetition sends the same method, path and body; \
            another request takes a key of its own.
            """
        )
    }
}
