package import Domain

/// The rules for credentials that the service sends to a server.
package enum Credentials {
    /// The maximum size of a token or a code in bytes.
    private static let longest = 8192

    /// Checks the form of an access token or a code, before any request (RFC 6749 appendix A.11 and A.12).
    ///
    /// - Throws: `credential_invalid`.
    package static func check(_ credential: Secret, at title: String) throws(Failure) {
        let bytes = credential.reveal().utf8
        guard bytes.count <= longest, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(
                .credentialInvalid,
                "This is no token or code of \(title), which are visible ASCII characters. Send it as the SDK returned it."
            )
        }
    }
}
