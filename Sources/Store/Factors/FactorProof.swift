package import Vocabulary

/// What finishes a login that was put off for a second factor; the write of the login uses it up.
///
/// A class, since most logins have none, and each would keep room for one in every frame that waits.
package final class FactorProof: Sendable {
    package enum Evidence: Sendable {
        /// The person has shown a factor of theirs.
        case shown(ShownFactor)
        /// The person had none, and has just shown to hold this one.
        case enrolled(NewFactor)
    }

    /// Which evidence it is: statements differ by it.
    package enum Kind: Sendable {
        case shown, enrolled
    }

    /// Whose login it was when it was put off; nil when there was no such user yet.
    package let user: ObjectID?
    package let evidence: Evidence
    /// SHA-256 of that for which the guess was counted, which ends the waits of wrong ones; nil where nothing was
    /// guessed.
    package let guess: [UInt8]?
    /// The device that is to be trusted from now on; nil for none.
    package let device: TrustedDevice?
    /// Recovery codes that the person has been shown already; nil where they are made after the login.
    package let recoveryCodes: NewFactor?

    package init(
        user: ObjectID?,
        evidence: Evidence,
        guess: [UInt8]?,
        device: TrustedDevice? = nil,
        recoveryCodes: NewFactor? = nil
    ) {
        self.user = user
        self.evidence = evidence
        self.guess = guess
        self.device = device
        self.recoveryCodes = recoveryCodes
    }

    package var kind: Kind {
        switch evidence {
        case .shown: .shown
        case .enrolled: .enrolled
        }
    }
}

/// A factor of a user's that was shown, with what of it counts once.
package struct ShownFactor: Sendable {
    package let id: ObjectID
    /// The time step of a code; no later one must have been shown before.
    package let step: Int64?
    /// The stored form of a recovery code.
    package let code: String?
    /// How often a passkey has signed by now, by its own count; 0 for one that does not count.
    package let signCount: Int64?

    package init(id: ObjectID, step: Int64? = nil, code: String? = nil, signCount: Int64? = nil) {
        self.id = id
        self.step = step
        self.code = code
        self.signCount = signCount
    }
}

/// A factor as it is stored first.
package struct NewFactor: Sendable {
    package let id: ObjectID
    package let kind: FactorKind
    package let label: String?
    /// Of what codes are made, or where they are sent to.
    package let secret: SealedSecret?
    /// The time step that was shown to enrol it.
    package let step: Int64?
    /// Recovery codes in their stored form.
    package let codes: [String]
    package let passkey: StoredPasskey?

    package init(
        id: ObjectID,
        kind: FactorKind,
        label: String? = nil,
        secret: SealedSecret? = nil,
        step: Int64? = nil,
        codes: [String] = [],
        passkey: StoredPasskey? = nil
    ) {
        self.id = id
        self.kind = kind
        self.label = label
        self.secret = secret
        self.step = step
        self.codes = codes
        self.passkey = passkey
    }
}

/// A passkey as it is stored.
package struct StoredPasskey: Sendable {
    package let credentialID: [UInt8]
    /// As COSE writes it (RFC 9052 §7).
    package let publicKey: [UInt8]
    package var signCount: Int64
    package let isBackupEligible: Bool
    package let transports: [String]

    package init(
        credentialID: [UInt8],
        publicKey: [UInt8],
        signCount: Int64,
        isBackupEligible: Bool,
        transports: [String]
    ) {
        self.credentialID = credentialID
        self.publicKey = publicKey
        self.signCount = signCount
        self.isBackupEligible = isBackupEligible
        self.transports = transports
    }
}

/// A device that has shown a factor and is not asked again for a while.
package struct TrustedDevice: Sendable {
    package let tokenHash: [UInt8]
    package let days: Int64

    package init(tokenHash: [UInt8], days: Int64) {
        self.tokenHash = tokenHash
        self.days = days
    }
}
