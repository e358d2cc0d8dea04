package import Domain
import Encodings

/// Verifies the signature of a webhook's body in `X-Hub-Signature-256` (docs/protocols/facebook.md §5.4).
package enum WebhookSignature {
    /// Returns the app whose secret signed a body.
    ///
    /// The bytes are hashed as received. Facebook escapes its JSON in a way that no other writer does, so the signature
    /// would not fit a body that was parsed and written again.
    ///
    /// - Parameters:
    ///   - body: The body as received.
    ///   - header: Returns the value of a header. The older header with SHA-1 is not read.
    ///   - apps: The apps that the webhook may concern.
    /// - Returns: The app.
    /// - Throws: `malformed_request` if the signature is missing, or if no app's secret made it.
    package static func signer(
        of body: [UInt8],
        header: (_ name: String) -> String?,
        apps: [ProviderApp]
    ) throws(Failure) -> ProviderAppID {
        guard let signature = header("X-Hub-Signature-256").flatMap(signature(in:)) else {
            throw refusal("it has no X-Hub-Signature-256 of the form sha256=<64 hexadecimal digits>")
        }
        guard let app = apps.first(where: { $0.signed(body, as: signature) }) else {
            throw refusal("its signature is not by the secret of one of this application's Facebook apps")
        }
        return app.id
    }

    /// Returns the signature in the header, which has `sha256=` and 64 hexadecimal digits.
    private static func signature(in header: String) -> [UInt8]? {
        let prefix = "sha256=".utf8
        guard header.utf8.count == prefix.count + 64, header.utf8.starts(with: prefix) else { return nil }
        return Hexadecimal.decode(header.utf8.dropFirst(prefix.count))
    }

    private static func refusal(_ problem: StaticString) -> Failure {
        Failure(.malformedRequest, "This webhook is refused: \(problem).", cause: "webhook refused: \(problem)")
    }
}
