package import Domain

/// Decrypts and encrypts values of encrypted columns, for a transaction that moves such values to other rows.
///
/// A ciphertext is bound to its row, so a moved one must be decrypted and encrypted again.
package struct ColumnCipher: Sendable {
    let application: ApplicationID
    private let open: @Sendable (EncryptedValue) -> Secret?
    private let encrypt: @Sendable (Secret, EncryptedValue.Row) -> EncryptedSecret

    /// Creates a cipher for the rows of one application.
    ///
    /// - Parameters:
    ///   - application: The application.
    ///   - open: Decrypts a value; nil if none of the master keys decrypts it.
    ///   - encrypt: Encrypts a secret for a row with the current master key.
    package init(
        of application: ApplicationID,
        open: @escaping @Sendable (EncryptedValue) -> Secret?,
        encrypt: @escaping @Sendable (Secret, EncryptedValue.Row) -> EncryptedSecret
    ) {
        self.application = application
        self.open = open
        self.encrypt = encrypt
    }

    /// Decrypts a value of the row whose key columns have the given values.
    ///
    /// - Throws: `provider_misconfigured` if none of the master keys decrypts it.
    func open(_ secret: EncryptedSecret, of column: EncryptedColumn, _ key: [String]) throws(Failure) -> Secret {
        let value = EncryptedValue(column: column, application: application, key: key, secret: secret)
        guard let opened = open(value) else {
            throw Failure(
                .providerMisconfigured,
                """
                A value in the table \(column.table) cannot be decrypted with its master key \(secret.keyID). See \
                federation secrets status.
                """
            )
        }
        return opened
    }

    func encrypt(_ secret: Secret, for column: EncryptedColumn, _ key: [String]) -> EncryptedSecret {
        encrypt(secret, EncryptedValue.Row(column: column, application: application, key: key))
    }
}
