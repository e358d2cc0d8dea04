package import Vocabulary

/// A user as a client writes one, at registration or in an update, in the terms of no protocol.
///
/// The protocol's reader only sorts what it has received; whether the application takes a value is for the use cases to
/// say.
package struct UserRecord: Sendable {
    /// What is given to properties, by their names; `null` takes a value away.
    package var properties: JSONObject
    /// The password to have; an empty text is none.
    package var password: JSONValue?
    /// The password that the user has, as reauthentication; an empty text is none.
    package var currentPassword: JSONValue?
    /// Whose record it is, as the client says: at registration that of the guest who becomes the user.
    package var objectID: JSONValue?
    /// The language of mails, such as `en-US`; `null` takes it away.
    package var locale: JSONValue?

    package init(properties: JSONObject = JSONObject(), password: JSONValue? = nil) {
        self.properties = properties
        self.password = password
    }
}
