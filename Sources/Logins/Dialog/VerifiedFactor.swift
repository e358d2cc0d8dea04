import Domain
import Encodings
import Secrets
import Store

/// A second factor that a user has presented at the end of a dialog.
///
/// The factor is used up when the client exchanges the login code.
package struct VerifiedFactor: Sendable {
    let proof: FactorProof
    /// The id for the user whom the login creates; nil if the user already exists.
    let freshID: ObjectID?
    /// The hash that the database stores to mark the pending login as used.
    ///
    /// If two login codes come from one pending login, only one of them logs in.
    let pendingHash: [UInt8]
    /// The time at which the login became pending, by the database's clock.
    let begunAt: StoreMoment

    func once(_ random: RandomSource) -> SingleUse {
        SingleUse.pendingLogin(pendingHash, begunAt: begunAt, owner: random.bytes(16))
    }
}

// Encoding for encryption.
extension VerifiedFactor {
    private enum Key {
        static let (user, freshID, hash) = ("user", "freshId", "hash")
        static let (shown, step, code, signCount) = ("shown", "step", "code", "signCount")
        static let (enrolled, recoveryCodes, guess) = ("enrolled", "recoveryCodes", "guess")
    }

    var object: JSONObject {
        var object: JSONObject = [Key.hash: .string(Base64URL.encode(pendingHash))]
        begunAt.add(to: &object)
        if let guess = proof.guess { object.append(Key.guess, .string(Base64URL.encode(guess))) }
        if let user = proof.user { object.append(Key.user, .string(user.description)) }
        if let freshID { object.append(Key.freshID, .string(freshID.description)) }
        if let codes = proof.recoveryCodes { object.append(Key.recoveryCodes, .object(codes.object)) }
        switch proof.evidence {
        case .enrolled(let factor): object.append(Key.enrolled, .object(factor.object))
        case .shown(let shown):
            object.append(Key.shown, .string(shown.id.description))
            if let step = shown.step { object.append(Key.step, .integer(step)) }
            if let code = shown.code { object.append(Key.code, .string(code)) }
            if let count = shown.signCount { object.append(Key.signCount, .integer(count)) }
        }
        return object
    }

    init?(_ object: JSONObject) {
        func id(_ key: String) -> ObjectID? { object[key]?.string.flatMap { ObjectID($0) } }
        let evidence: FactorProof.Evidence
        if let shown = id(Key.shown) {
            evidence = .shown(
                ShownFactor(
                    id: shown,
                    step: object[Key.step]?.integer,
                    code: object[Key.code]?.string,
                    signCount: object[Key.signCount]?.integer
                )
            )
        } else if let factor = object[Key.enrolled]?.object.flatMap({ NewFactor($0) }) {
            evidence = .enrolled(factor)
        } else {
            return nil
        }
        guard let hash = object[Key.hash]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let begun = StoreMoment(in: object)
        else { return nil }
        proof = FactorProof(
            user: id(Key.user),
            evidence: evidence,
            guess: object[Key.guess]?.string.flatMap { Base64URL.decode($0.utf8) },
            recoveryCodes: object[Key.recoveryCodes]?.object.flatMap { NewFactor($0) }
        )
        freshID = id(Key.freshID)
        pendingHash = hash
        begunAt = begun
    }
}

extension NewFactor {
    private enum Key {
        static let (id, kind, label, secret, secretKey) = ("id", "kind", "label", "secret", "secretKey")
        static let (step, codes, credential, publicKey) = ("step", "codes", "credential", "publicKey")
        static let (signCount, backup, transports) = ("signCount", "backupEligible", "transports")
    }

    fileprivate var object: JSONObject {
        var object: JSONObject = [
            Key.id: .string(id.description), Key.kind: .string(kind.rawValue),
            Key.codes: .array(codes.map(JSONValue.string)),
        ]
        if let label { object.append(Key.label, .string(label)) }
        if let step { object.append(Key.step, .integer(step)) }
        if let secret {
            object.append(Key.secret, .string(Base64URL.encode(secret.bytes)))
            object.append(Key.secretKey, .string(secret.keyID))
        }
        if let passkey {
            object.append(Key.credential, .string(Base64URL.encode(passkey.credentialID)))
            object.append(Key.publicKey, .string(Base64URL.encode(passkey.publicKey)))
            object.append(Key.signCount, .integer(passkey.signCount))
            object.append(Key.backup, .bool(passkey.isBackupEligible))
            object.append(Key.transports, .array(passkey.transports.map(JSONValue.string)))
        }
        return object
    }

    fileprivate init?(_ object: JSONObject) {
        func bytes(_ key: String) -> [UInt8]? { object[key]?.string.flatMap { Base64URL.decode($0.utf8) } }
        func texts(_ key: String) -> [String] { object[key]?.array?.compactMap(\.string) ?? [] }
        guard let id = object[Key.id]?.string.flatMap({ ObjectID($0) }),
            let kind = object[Key.kind]?.string.flatMap({ FactorKind(rawValue: $0) })
        else { return nil }
        var passkey: StoredPasskey?
        if let credential = bytes(Key.credential), let publicKey = bytes(Key.publicKey) {
            passkey = StoredPasskey(
                credentialID: credential,
                publicKey: publicKey,
                signCount: object[Key.signCount]?.integer ?? 0,
                isBackupEligible: object[Key.backup]?.bool ?? false,
                transports: texts(Key.transports)
            )
        }
        self.init(
            id: id,
            kind: kind,
            label: object[Key.label]?.string,
            secret: bytes(Key.secret).flatMap { bytes in
                object[Key.secretKey]?.string.map { EncryptedSecret(bytes: bytes, keyID: $0) }
            },
            step: object[Key.step]?.integer,
            codes: texts(Key.codes),
            passkey: passkey
        )
    }
}
