import Curl
import Domain
import Providers

extension AuthorizationServer {
    /// Asks whether a dialog with a redirect URI would open, as far as that can be seen without a browser.
    ///
    /// Many servers refuse an unknown redirect URI with an error status, or redirect to a page of theirs that says so.
    /// Others show the refusal to the user only.
    ///
    /// - Parameters:
    ///   - address: The address of the dialog.
    ///   - redirectURI: The redirect URI in that address, for the message.
    ///   - deadline: The moment at which the response must be there.
    /// - Returns: A warning for the operator; nil if nothing speaks against the redirect URI.
    package func warning(
        aboutDialogAt address: String,
        redirectURI: String,
        until deadline: ContinuousClock.Instant
    ) async -> String? {
        guard let url = try? HTTPURL(address), let reply = try? await page(url, until: deadline) else {
            return "The login dialog of \(service.name) could not be opened, so the redirect URI is not checked."
        }
        let location = reply.header("Location") ?? ""
        switch reply.status {
        case 300...399 where location.hasPrefix(redirectURI):
            guard location.contains("error=") else { return nil }
            return
                "The login dialog of \(service.name) accepts the redirect URI \(redirectURI), but refuses the request."
        case 300...399 where !location.contains("authError") && !location.contains("error="): return nil
        // A firewall and a rate limit say nothing about the redirect URI.
        case 403, 429: return nil
        case 300...499: break
        default: return nil
        }
        return """
            The login dialog of \(service.name) does not open with the redirect URI \(redirectURI) (status \
            \(reply.status)). Enter it among the redirect URIs of the client there.
            """
    }
}
