package import Encodings

/// A backend that administers the users of an application, and signs with a private key of its own.
package struct ServiceAccount: Sendable {
    /// The id of the key, in hex.
    package let id: String
    package let application: ApplicationID
    package let name: String
    /// The name of the account in the tokens that it signs, in the form of an e-mail address.
    package let email: String
    /// The public key, a JWK.
    package let publicKey: JSONObject

    package init(id: String, application: ApplicationID, name: String, email: String, publicKey: JSONObject) {
        self.id = id
        self.application = application
        self.name = name
        self.email = email
        self.publicKey = publicKey
    }
}
