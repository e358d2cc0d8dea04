package import Vocabulary

/// What a login dialog says when it sends the browser back, as it stands in the query.
///
/// All of it passes through the person's browser, so nothing in it is believed but a code that the provider takes.
package struct DialogAnswer: Sendable {
    package var state: String?
    package var code: Secret?
    package var error: String?
    package var errorReason: String?
    package var errorCode: String?
    package var deniedScopes: String?

    package init() {}
}
