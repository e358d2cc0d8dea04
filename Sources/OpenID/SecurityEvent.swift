import Domain
import Encodings
import Providers
import SignedTokens

/// What an event of an issuer says about a user (docs/protocols/openid.md §8).
enum SecurityEvent {
    /// Returns what a security event token says about users.
    ///
    /// - Parameters:
    ///   - claims: The verified claims.
    ///   - issuers: The values of `iss` in subjects of this issuer.
    ///   - provider: The name of the provider.
    /// - Returns: The users, and what has ended; none for events that end nothing. A logout that names only a session
    ///   has no user.
    /// - Throws: `malformed_request` if an event that counts names neither its user nor, for a logout, its session.
    static func read(
        _ claims: JSONObject,
        issuers: [String],
        of provider: ProviderName
    ) throws(Failure) -> [(subject: Subject?, kind: ReportedChange.Kind)] {
        guard let events = claims["events"]?.object else { throw .noEvent("events is no object") }
        var found: [(subject: Subject?, kind: ReportedChange.Kind)] = []
        for event in events.members {
            if event.key.hasSameBytes(as: logout) {
                found.append(try readLogout(claims, of: provider))
                continue
            }
            guard let kind = kind(of: event.key) else { continue }
            let details = event.value.object ?? [:]
            let named = details["subject"] ?? claims["sub_id"]
            guard let text = named == nil ? claims.text("sub") : subject(named, issuers) else {
                throw .noEvent("an event does not name its user by sub")
            }
            found.append((try checked(text), kind))
        }
        return found
    }

    /// Reads a logout token, which names the user, the session at the issuer, or both (Logout 2.4).
    private static func readLogout(
        _ claims: JSONObject,
        of provider: ProviderName
    ) throws(Failure) -> (subject: Subject?, kind: ReportedChange.Kind) {
        // An issuer of security events leaves exp out; one of logout tokens must not.
        guard claims["exp"] != nil else { throw .noEvent("a logout token has no exp") }
        let (subject, session) = (claims.text("sub"), ProviderSession.hash(claims.text("sid"), at: provider))
        guard subject != nil || session != nil else {
            throw .noEvent("a logout token has neither sub nor sid")
        }
        return (try subject.map { text throws(Failure) in try checked(text) }, .logout(session: session))
    }

    private static func checked(_ subject: String) throws(Failure) -> Subject {
        guard let subject = Subject(subject) else { throw .noEvent("the subject is invalid") }
        return subject
    }

    private static func kind(of event: String) -> ReportedChange.Kind? {
        let logouts = [
            "\(risc)sessions-revoked", "\(risc)account-disabled", "\(risc)credential-compromise",
            "\(caep)session-revoked",
        ]
        let removals = ["\(oauth)tokens-revoked", "\(oauth)user-unlinked", "\(risc)account-purged"]
        if logouts.contains(where: { $0.hasSameBytes(as: event) }) { return .logout(session: nil) }
        return removals.contains { $0.hasSameBytes(as: event) } ? .removal : nil
    }

    private static let logout = "http://schemas.openid.net/event/backchannel-logout"
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    private static let caep = "https://schemas.openid.net/secevent/caep/event-type/"
    private static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"

    /// Returns the user's id of a subject such as `{"format": "iss_sub", "iss": …, "sub": …}` (RFC 9493 §3.2.2); nil
    /// for another form, or a user of another issuer.
    private static func subject(_ value: JSONValue?, _ issuers: [String]) -> String? {
        guard let object = value?.object, let issuer = object.text("iss"),
            issuers.contains(where: { $0.hasSameBytes(as: issuer) })
        else { return nil }
        return object.text("sub")
    }
}

extension JSONObject {
    fileprivate func text(_ name: String) -> String? { self[name]?.string }
}
