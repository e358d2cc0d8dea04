import Domain
import Encodings
import Providers
import SignedTokens

/// A notification of Apple about a user (docs/protocols/openid.md §6).
///
/// The body is `{"payload": TOKEN}`, and the token's claim `events` is a text that contains a JSON object.
enum AppleNotification {
    /// Returns the token of a body; nil if the body is no notification.
    static func token(in body: [UInt8]) -> Secret? {
        (try? JSONParser.parse(body, limits: .request))?.object?["payload"]?.string.map(Secret.init)
    }

    /// Returns what the verified claims say about a user; none for events that end nothing, such as `email-disabled`.
    ///
    /// - Throws: `malformed_request`.
    static func read(_ claims: JSONObject) throws(Failure) -> [(subject: Subject, kind: ReportedChange.Kind)] {
        guard let text = claims["events"]?.string,
            let event = (try? JSONParser.parse(text, limits: .request))?.object, let type = event["type"]?.string
        else { throw .noEvent("events is no text with an event") }
        // Apple's pages have both names for a deleted account.
        guard ["consent-revoked", "account-delete", "account-deleted"].contains(where: { $0.hasSameBytes(as: type) })
        else { return [] }
        guard let subject = event["sub"]?.string.flatMap({ Subject($0) }) else {
            throw .noEvent("the event does not name its user")
        }
        return [(subject, .removal)]
    }
}
