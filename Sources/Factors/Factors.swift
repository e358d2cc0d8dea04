// Factors — what people show beside what they log in by.
//
// It owns how a factor is enrolled (a draft that its person confirms), asked for (a code that is sent, a challenge) and
// checked, under counts that no road leads around, and what of it may be shown.
//
// It must not know of logins, of sessions, or of what is finished when a factor has been shown: its callers say for
// which occasion it is asked, and write what was shown with what they write.

package import Store
package import Vocabulary

/// Whatever a factor is asked for: one login, one step of a session, one enrolment.
///
/// Codes that are sent and challenges come of its bytes, so nothing is kept of them, and they are good for it alone.
package struct FactorOccasion: Sendable {
    /// 32 random bytes that nobody knows but whoever has it sealed.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package init(_ random: RandomSource) { bytes = random.bytes(32) }
}

/// What somebody answers.
package enum FactorResponse: Sendable {
    case code(String)
    /// RegistrationResponseJSON or AuthenticationResponseJSON (WebAuthn level 3 §5.1).
    case credential(JSONValue)

    /// What a form of ours says: what an authenticator gave, or else a code.
    package init(credential: String?, code: String?) {
        if let credential, !credential.isEmpty {
            self = .credential((try? JSONParser.parse(credential, limits: .request)) ?? .null)
        } else {
            self = .code(code ?? "")
        }
    }
}

/// What a person gets who is to show a factor.
package struct FactorChallenge: Sendable {
    /// Where a code was sent, so far as it may be shown; nil where none was.
    package let sentTo: String?
    /// PublicKeyCredentialRequestOptionsJSON; nil where none is asked for.
    package let publicKey: JSONObject?
}

/// A factor that was shown, before it is used up.
package struct CheckedFactor: Sendable {
    package let kind: FactorKind
    package let shown: ShownFactor
    /// Whether the authenticator has made sure who holds it.
    package let isUserVerified: Bool
    /// SHA-256 of that for which the guess was counted, to be taken back when it is used up.
    ///
    /// Nil where nothing was guessed.
    package let guess: [UInt8]?
}
