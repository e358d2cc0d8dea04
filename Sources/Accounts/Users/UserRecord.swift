package import Encodings

/// A user's record from a client, at registration or in an update, independent of the protocol.
///
/// The protocol's parser only sorts the received members; the use cases decide whether the application accepts a value.
package struct UserRecord: Sendable {
    /// The values of properties, by name; `null` removes a value.
    package var properties: JSONObject
    /// The new password; an empty text is none.
    package var password: JSONValue?
    /// The present password, by which the user authenticates again; an empty text is none.
    package var currentPassword: JSONValue?
    /// The user id that the client sent; at registration, the id of the guest to convert.
    package var objectID: JSONValue?
    /// The language of mails, such as `en-US`; `null` removes it.
    package var locale: JSONValue?
    /// The uid of a new user for Firebase's clients; nil for the object id.
    ///
    /// Only a server chooses a uid.
    package var uid: String?
    /// Whether the e-mail address of a new user counts as confirmed.
    ///
    /// Only a server decides this.
    package var confirmsAddress = false

    package init(properties: JSONObject = JSONObject(), password: JSONValue? = nil) {
        self.properties = properties
        self.password = password
    }
}
