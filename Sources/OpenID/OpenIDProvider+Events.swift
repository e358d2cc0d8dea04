package import Domain
import Encodings
package import Providers
import SignedTokens

// The events that an issuer sends: logouts, security events, and Apple's notifications.

extension OpenIDProvider: EventReporting {
    package var endsSessionsWhenRevoked: Bool { settings.options.endSessionsWhenRevoked }
    package var webhookLimit: Int { 65_536 }

    package func changes(
        in body: [UInt8],
        header: (_ name: String) -> String?,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [ReportedChange] {
        guard settings.subject == .sub else {
            throw .noEvent("events name a user by sub, which does not identify the users of this provider")
        }
        let (text, type) = try Self.token(in: body)
        let check = EventTokenCheck(
            issuers: settings.eventIssuers,
            clients: apps.map(\.id)
        )
        let token: SignedToken
        do throws(Failure) {
            token = try SignedToken(text, by: settings.algorithms, type: type, namingKey: false)
        } catch {
            throw .noEvent(error.cause ?? "the token is malformed")
        }
        let now = clock.seconds
        let event: (claims: JSONObject, issued: Int64)
        do throws(Failure) {
            event = try await party.keys.verify(token, until: deadline) { (key) throws(Failure) in
                try check.accept(token, signedBy: key, now: now)
            }
        } catch {
            guard error.reason != .credentialInvalid else { throw .noEvent(error.cause ?? "the key is unknown") }
            throw error
        }
        let found =
            event.claims["events"]?.string == nil
            ? try SecurityEvent.read(event.claims, issuers: check.issuers, of: name)
            : try AppleNotification.read(event.claims)
        return found.map { subject, kind in
            let identity = subject.map { IdentityKey(provider: name, app: .global, subject: $0) }
            return ReportedChange(identity: identity, time: event.issued, kind)
        }
    }

    /// Returns the token of a body, and the type that its header may name besides `JWT`.
    ///
    /// The body is a form with a `logout_token`, Apple's JSON, or the token itself.
    private static func token(in body: [UInt8]) throws(Failure) -> (Secret, type: String) {
        if let token = AppleNotification.token(in: body) { return (token, "JWT") }
        let text = String(decoding: body, as: UTF8.self)
        if body.starts(with: "logout_token=".utf8) || text.contains("&logout_token=") {
            guard let token = try FormFields(text).value("logout_token") else { throw .noEvent("there is no token") }
            return (Secret(token), "logout+jwt")
        }
        return (Secret(text), "secevent+jwt")
    }
}
