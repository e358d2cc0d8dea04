#if canImport(AuthenticationServices)
import AuthenticationServices
import CryptoKit

/// A login with Facebook in the system's browser: neither the app nor anything in it sees the person's password.
@MainActor
final class FacebookLogin: NSObject, ASWebAuthenticationPresentationContextProviding {
    private let client: FederationClient
    private let window: ASPresentationAnchor
    private var session: ASWebAuthenticationSession?

    init(client: FederationClient, window: ASPresentationAnchor) {
        self.client = client
        self.window = window
    }

    /// Logs the person in.
    ///
    /// - Parameter returnURL: A URL of the app's own scheme, such as `com.example.app:/done`, which the operator has
    ///   put into `returnUrls`.
    /// - Returns: The user with a session.
    /// - Throws: `ASWebAuthenticationSessionError.canceledLogin` when the person closes the browser, and what the
    ///   client throws.
    func logIn(returningTo returnURL: URL) async throws -> FederationClient.User {
        let proof = ProofKey.random()
        let dialog = try await client.facebookDialog(returningTo: returnURL, challenge: proof.challenge)
        let end = try await browse(to: dialog, until: returnURL.scheme)
        return try await client.finishLogin(at: end, verifier: proof.verifier)
    }

    private func browse(to dialog: URL, until scheme: String?) async throws -> URL {
        defer { session = nil }
        return try await withCheckedThrowingContinuation { continuation in
            // It may be called on any thread.
            let session = ASWebAuthenticationSession(url: dialog, callbackURLScheme: scheme) { @Sendable end, error in
                if let end {
                    continuation.resume(returning: end)
                } else {
                    continuation.resume(throwing: error ?? URLError(.cancelled))
                }
            }
            session.presentationContextProvider = self
            guard session.canStart else {
                continuation.resume(throwing: URLError(.cannotConnectToHost))
                return
            }
            self.session = session
            session.start()
        }
    }

    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { window }
}

extension ProofKey {
    /// Another one for every login.
    static func random() -> ProofKey {
        let verifier = base64URL((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        return ProofKey(verifier: verifier, challenge: base64URL(SHA256.hash(data: Data(verifier.utf8))))
    }

    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
#endif
