/// The relying party of passkeys: one RP id, its origins, and the requirements on authenticators.
package struct RelyingParty: Sendable {
    /// Whether the authenticator must verify its user, by a PIN or a fingerprint.
    package enum UserVerification: String, Sendable, CaseIterable {
        case required, preferred, discouraged
    }

    /// The RP id: a host name in lower case.
    package let id: String
    /// The name that authenticators display.
    package let name: String
    /// The accepted origins of pages and apps, such as `https://example.org` and `android:apk-key-hash:…`.
    ///
    /// They are compared as bytes. The operator must list only origins that belong to the RP id, by their host or as
    /// related origins. Clients check this, too.
    package let origins: [String]
    package let userVerification: UserVerification

    package init(id: String, name: String, origins: [String], userVerification: UserVerification) {
        self.id = id
        self.name = name
        self.origins = origins
        self.userVerification = userVerification
    }
}
