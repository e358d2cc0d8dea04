import Secrets
package import Vocabulary

/// The `Idempotency-Key` of a request and its repetitions, bound to method, path and body.
///
/// Another body under the same key is another request, which must not get the reply of the first.
package struct IdempotencyKey: Sendable {
    /// Stands for whoever uses a credential that counts once: equal for the same request under the same key, and for
    /// nothing else.
    let owner: [UInt8]

    private static let keyBytes = 32

    /// - Parameters:
    ///   - text: The header as received.
    ///   - method: Of the request.
    ///   - path: Of the request, as received.
    ///   - body: Of the request; the order of members does not count, since clients that write it again change it.
    package init(_ text: String, method: String, path: String, body: JSONObject) {
        // The length in front keeps two parts from passing for others.
        let request = [method, path, JSONValue.object(body).ordered.text].map { "\($0.utf8.count) \($0)" }.joined()
        owner = Digest.sha256("idempotency key " + text) + Digest.sha256(request)
    }

    /// Refuses a request under a key that was another request's.
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
