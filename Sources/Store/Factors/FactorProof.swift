package import Domain

/// A second factor that a user has presented or enrolled, for a pending login, a step-up or a mailed link.
///
/// The statement that finishes the login, the step-up or the use of the link uses the factor up.
///
/// This is a class to save memory: a struct would take memory in each suspended function of each login, although most
/// logins have no second factor.
package final class FactorProof: Sendable {
    package enum Evidence: Sendable {
        /// The user has presented one of the account's factors.
        case shown(ShownFactor)
        /// The user had no factor, and has just presented this one to enrol it.
        case enrolled(NewFactor)
    }

    /// The kind of evidence, which determines the SQL statement: whether the factor was presented or enrolled.
    package enum Kind: Sendable {
        case shown, enrolled
    }

    /// The user of the pending login; nil if the user did not exist yet.
    package let user: ObjectID?
    package let evidence: Evidence
    /// The SHA-256 hash that identifies the counter of guesses at the factor; nil if the factor cannot be guessed.
    ///
    /// A success ends the lockout that wrong guesses have caused.
    package let guess: [UInt8]?
    /// The device to trust from now on; nil for none.
    package let device: TrustedDevice?
    /// The recovery codes that were shown to the user already; nil if none were shown before the login.
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

/// A second factor that a user has presented, with its single-use value, such as the time step of a TOTP code.
package struct ShownFactor: Sendable {
    package let id: ObjectID
    /// The time step of the code from an authenticator app (RFC 6238); nil for another factor.
    ///
    /// The step must be later than that of every code presented before.
    package let step: Int64?
    /// The hash of the recovery code that the user has presented; nil for another factor.
    package let code: String?
    /// The signature counter of the passkey (WebAuthn), 0 for a passkey that does not count; nil for another factor.
    package let signCount: Int64?

    package init(id: ObjectID, step: Int64? = nil, code: String? = nil, signCount: Int64? = nil) {
        self.id = id
        self.step = step
        self.code = code
        self.signCount = signCount
    }
}

/// A factor to be stored.
package struct NewFactor: Sendable {
    package let id: ObjectID
    package let kind: FactorKind
    package var label: String?
    /// The encrypted secret from which one-time codes are computed, or the encrypted address to which they are sent.
    package let secret: EncryptedSecret?
    /// The time step of the code from an authenticator app (RFC 6238) that was presented at the enrolment.
    package let step: Int64?
    /// The hashes of the recovery codes; empty for another factor.
    package let codes: [String]
    package let passkey: StoredPasskey?

    package init(
        id: ObjectID,
        kind: FactorKind,
        label: String? = nil,
        secret: EncryptedSecret? = nil,
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

/// A stored passkey.
package struct StoredPasskey: Sendable {
    package let credentialID: [UInt8]
    /// The public key in the encoding of COSE (RFC 9052 §7).
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

/// A device on which a user has presented a second factor, and is not asked for one again for some days.
package struct TrustedDevice: Sendable {
    package let tokenHash: [UInt8]
    package let days: Int64

    package init(tokenHash: [UInt8], days: Int64) {
        self.tokenHash = tokenHash
        self.days = days
    }
}
