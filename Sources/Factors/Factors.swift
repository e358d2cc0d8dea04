// Factors — second factors of users and operators.
//
// This module owns the enrolment of a factor (a draft that its user confirms), its challenge (a sent code, or a passkey
// challenge), its check under limits that no path bypasses, and its displayable parts.
//
// It must not know logins, sessions, or what a shown factor completes. Callers name the occasion of a factor, and use
// up the shown factor together with their own writes.

package import Domain
package import Encodings
package import Store

/// The random bytes of one login, step-up or enrolment, from which the codes and challenges of second factors are
/// derived.
///
/// The sent codes and the passkey challenges are computed from these bytes. So the database need not store them, and
/// they are valid only for this login, step-up or enrolment.
package struct FactorOccasion: Sendable {
    /// 32 random bytes, which leave the service only in encrypted form.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package init(_ random: RandomSource) { bytes = random.bytes(32) }
}

/// A user's response to the request for a second factor.
package enum FactorResponse: Sendable {
    case code(String)
    /// The response of an authenticator: RegistrationResponseJSON or AuthenticationResponseJSON (WebAuthn level 3
    /// §5.1).
    case credential(JSONValue)

    /// Creates a response from the fields of a form: the authenticator's credential, or else a code.
    package init(credential: String?, code: String?) {
        if let credential, !credential.isEmpty {
            self = .credential((try? JSONParser.parse(credential, limits: .request)) ?? .null)
        } else {
            self = .code(code ?? "")
        }
    }
}

/// What the client needs to ask the user for a second factor: where a code was sent, or the options for a passkey.
package struct FactorChallenge: Sendable {
    /// The masked target of a sent code; nil if no code was sent.
    package let sentTo: String?
    /// The options with which a browser uses a passkey (WebAuthn's PublicKeyCredentialRequestOptionsJSON).
    ///
    /// Nil if the factor is not a passkey.
    package let publicKey: JSONObject?
}

/// A second factor that has passed the check, but whose use is not recorded yet.
package struct CheckedFactor: Sendable {
    package let kind: FactorKind
    package let shown: ShownFactor
    /// Whether the authenticator has verified its user.
    package let isUserVerified: Bool
    /// The key (a SHA-256) under which the attempt was counted; nil if the response cannot be guessed.
    ///
    /// The transaction that records the use of the factor also subtracts the attempt from that counter.
    package let guess: [UInt8]?
}
