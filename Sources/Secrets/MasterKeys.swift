package import Domain
package import Store

/// The master keys of an instance: one that encrypts, and former ones that only decrypt (decision D15).
package struct MasterKeys: Sendable {
    /// The key that encrypts all new values.
    package let current: MasterKey
    /// The former keys, which older values are still encrypted with; empty except during a rotation.
    package let previous: [MasterKey]

    package init(current: MasterKey, previous: [MasterKey] = []) {
        self.current = current
        self.previous = previous
    }

    /// The ids of all keys, the current one first.
    package var ids: [String] { [current.id] + previous.map(\.id) }

    /// Encrypts a secret with the current key, for storage at `place` in the database.
    ///
    /// The ciphertext can be decrypted only with the same place.
    package func encrypt(_ secret: Secret, for place: MasterKey.Place) -> EncryptedSecret {
        EncryptedSecret(bytes: current.encrypt(secret, for: place), keyID: current.id)
    }

    /// Decrypts a secret that is stored at `place` in the database.
    ///
    /// Nil if it was encrypted with a key that is not among these keys, or for another place, or if it was changed.
    package func open(_ encrypted: EncryptedSecret, at place: MasterKey.Place) -> Secret? {
        ([current] + previous).first { $0.id == encrypted.keyID }?.open(encrypted.bytes, at: place)
    }

    /// Returns the cipher for a transaction that moves encrypted values between rows of an application.
    package func cipher(of application: ApplicationID) -> ColumnCipher {
        ColumnCipher(of: application) {
            open($0.secret, at: MasterKey.Place(of: $0))
        } encrypt: {
            encrypt($0, for: MasterKey.Place(of: $1))
        }
    }
}
