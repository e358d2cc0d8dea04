package import Vocabulary

/// `X-Hub-Signature-256`: which app's secret signed the body of a webhook (docs/protocols/facebook.md §5.4).
package enum WebhookSignature {
    /// The app that a body is for.
    ///
    /// The bytes are hashed as they came: Facebook escapes its JSON in a way that no other writer does.
    ///
    /// - Parameters:
    ///   - body: The body as received.
    ///   - header: The value of the header field of that name; the older one with SHA-1 is not asked for.
    ///   - apps: The apps that may have been called.
    /// - Returns: The app.
    /// - Throws: `malformed_request` when the signature is missing or by none of the apps.
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

    /// `sha256=` and 64 hexadecimal digits.
    private static func signature(in header: String) -> [UInt8]? {
        let prefix = "sha256=".utf8
        guard header.utf8.count == prefix.count + 64, header.utf8.starts(with: prefix) else { return nil }
        return Hexadecimal.decode(header.utf8.dropFirst(prefix.count))
    }

    private static func refusal(_ problem: StaticString) -> Failure {
        Failure(.malformedRequest, "This webhook is not taken: \(problem).", cause: "webhook refused: \(problem)")
    }
}
