/// Whom passkeys are made for: one RP id, the origins that may use it, and what is asked of authenticators.
package struct RelyingParty: Sendable {
    /// Whether the authenticator has to make sure who uses it, by a PIN or a finger.
    package enum UserVerification: String, Sendable, CaseIterable {
        case required, preferred, discouraged
    }

    /// The RP id: a host name in lower case.
    package let id: String
    /// The name that authenticators show.
    package let name: String
    /// The origins whose pages and apps are taken, such as `https://example.org` and `android:apk-key-hash:…`.
    ///
    /// They are compared as bytes. Whether they belong to the RP id, by their host or as related origins, is a matter
    /// of those who configure them: clients check it, too.
    package let origins: [String]
    package let userVerification: UserVerification

    package init(id: String, name: String, origins: [String], userVerification: UserVerification) {
        self.id = id
        self.name = name
        self.origins = origins
        self.userVerification = userVerification
    }
}
