import Crypto
import Domain
import Encodings
import FoundationEssentials
import Store
import WebAuthn

/// The relying party of passkeys (WebAuthn), created from the settings of an application.
extension RelyingParty {
    /// Creates the relying party of an application; nil until the operator configures one.
    ///
    /// If `isVerifying` is true, the authenticator must verify its user, whatever the application's setting.
    init?(of application: Application, verifying isVerifying: Bool = false) {
        let policy = application.settings.secondFactor.passkeys
        guard let id = policy.relyingPartyID else { return nil }
        let verification: UserVerification =
            switch policy.userVerification {
            case _ where isVerifying: .required
            case .required: .required
            case .preferred: .preferred
            case .discouraged: .discouraged
            }
        self.init(id: id, name: application.name, origins: policy.origins, userVerification: verification)
    }
}

extension FactorOccasion {
    /// The challenge that an authenticator signs.
    ///
    /// The challenge is a hash of the occasion's bytes. The bytes themselves are a secret, since codes are derived from
    /// them.
    var challenge: [UInt8] { Array(SHA256.hash(data: Array("federation: challenge of a passkey\n".utf8) + bytes)) }
}

extension StoredPasskey {
    var descriptor: PasskeyDescriptor {
        PasskeyDescriptor(id: credentialID, transports: transports.compactMap { Transport(rawValue: $0) })
    }

    /// Returns the passkey in the form that an assertion is verified against.
    func passkey(of user: ObjectID) -> Passkey {
        Passkey(
            credentialID: credentialID,
            publicKey: publicKey,
            signCount: UInt32(clamping: signCount),
            isBackupEligible: isBackupEligible,
            userHandle: user.handle
        )
    }
}

extension ObjectID {
    /// The user handle that authenticators store for the user: the 16 bytes of the random user id.
    var handle: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }
}

extension CeremonyError {
    /// Returns the failure for an invalid passkey response.
    func failure(_ reason: Failure.Reason) -> Failure {
        Failure(
            reason,
            "The passkey was not accepted. Try again, or use another second factor.",
            details: ["passkey": .string(rawValue)],
            cause: "a passkey's response: \(rawValue)"
        )
    }
}
