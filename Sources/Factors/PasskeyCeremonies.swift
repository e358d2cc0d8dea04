import Crypto
import FoundationEssentials
import Store
import Vocabulary
import WebAuthn

/// Ceremonies of passkeys as an application has them.
extension RelyingParty {
    /// Nil while the operator has not said what passkeys are for.
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
    /// What an authenticator signs.
    ///
    /// The bytes themselves are a secret, since codes are made of them.
    var challenge: [UInt8] { Array(SHA256.hash(data: Array("federation: challenge of a passkey\n".utf8) + bytes)) }
}

extension StoredPasskey {
    var descriptor: PasskeyDescriptor {
        PasskeyDescriptor(id: credentialID, transports: transports.compactMap { Transport(rawValue: $0) })
    }

    /// As an assertion is held against it.
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
    /// What an authenticator knows a user by: random bytes, which tell nobody who it is.
    var handle: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }
}

extension CeremonyError {
    /// That a passkey was not shown or not made as it should.
    func failure(_ reason: Failure.Reason) -> Failure {
        Failure(
            reason,
            "The passkey does not count here. Try it again, or use another second factor.",
            details: ["passkey": .string(rawValue)],
            cause: "a passkey's response: \(rawValue)"
        )
    }
}
