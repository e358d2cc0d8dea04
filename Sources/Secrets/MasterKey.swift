package import Crypto
package import Domain
import Encodings
import FoundationEssentials
package import Store

/// A master key of the installation: encrypts secrets with AES-256-GCM (decision D15).
///
/// Each value is encrypted for one ``Place`` in the database, which is the associated data of the encryption. A
/// ciphertext that is moved to another row, application or column cannot be decrypted there.
package struct MasterKey: Sendable {
    /// The id of the key: the first 8 bytes of its SHA-256 in hex.
    ///
    /// Each ciphertext is stored with the id of its key.
    package let id: String
    private let encryption: EncryptionKey

    /// Reads a key from 32 bytes in base64.
    ///
    /// - Throws: `InvalidMasterKey` with the problem, but without the text.
    package init(base64 text: Secret) throws(InvalidMasterKey) {
        let trimmed = text.reveal().filter { !$0.isWhitespace }
        guard let bytes = Data(base64Encoded: trimmed) else { throw InvalidMasterKey(problem: "is not base64") }
        guard bytes.count == 32 else {
            throw InvalidMasterKey(problem: "holds \(bytes.count) bytes instead of 32")
        }
        encryption = EncryptionKey(key: SymmetricKey(data: bytes))
        id = Hexadecimal.encode(SHA256.hash(data: bytes).prefix(8))
    }

    /// Derives a key for one purpose from this key, by HKDF with SHA-256.
    ///
    /// The derived key does not reveal this key.
    package func derivedKey(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: encryption.key, info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// The place of a ciphertext in the database: its table, application, row and column.
    ///
    /// A ciphertext can be decrypted only together with its place.
    package struct Place: Sendable {
        let table: String
        let application: String
        let row: String
        let column: String

        /// Creates the place of an encrypted value in the database: its column, its application and its row.
        ///
        /// `key` has the values that identify the row; `application` is nil for a value that belongs to no application.
        private init(_ column: EncryptedColumn, of application: ApplicationID?, _ key: [String]) {
            table = column.table
            self.application = application?.text ?? ""
            row = column.row(key)
            self.column = column.name
        }

        /// Creates the place of an encrypted value that was read from the database.
        package init(of value: EncryptedValue) { self.init(value.column, of: value.application, value.key) }

        /// Creates the place of an encrypted value that is to be written to a row.
        init(of row: EncryptedValue.Row) { self.init(row.column, of: row.application, row.key) }

        private init(option: String, at provider: ProviderName, of application: ApplicationID) {
            (table, self.application) = ("provider_settings", application.text)
            (row, column) = (provider.text, "options/\(option)")
        }

        /// Returns the place where the database stores the encrypted secret of a provider's app.
        package static func appSecret(application: ApplicationID, provider: ProviderName, app: ProviderAppID) -> Place {
            Place(.appSecrets, of: application, [provider.text, app.text])
        }

        /// Returns the place where the database stores an encrypted option of a provider.
        package static func secretOption(application: ApplicationID, provider: ProviderName, option: String) -> Place {
            Place(option: option, at: provider, of: application)
        }

        /// Returns the place where the database stores the encrypted provider token of an identity.
        package static func providerToken(application: ApplicationID, identity: IdentityKey) -> Place {
            Place(.providerTokens, of: application, [identity.provider.text, identity.app.text, identity.subject.text])
        }

        /// Returns the place where the database stores the encrypted content of a login code.
        ///
        /// The hash of the login code identifies the row.
        package static func loginCode(application: ApplicationID, hash: [UInt8]) -> Place {
            Place(.loginCodes, of: application, ["loginCode", Base64URL.encode(hash)])
        }

        /// Returns the place where the database stores the encrypted password hash of a user.
        package static func passwordHash(application: ApplicationID, user: ObjectID) -> Place {
            Place(.passwordHashes, of: application, [user.description])
        }

        /// Returns the place where the database stores the encrypted secret of a second factor.
        ///
        /// The factor belongs to a user of the application, or to an operator if `application` is nil.
        package static func factor(application: ApplicationID?, user: ObjectID, id: ObjectID) -> Place {
            Place(
                application == nil ? .operatorFactors : .factors,
                of: application,
                [user.description, id.description]
            )
        }

        /// Returns the place where the database stores an encrypted mail that waits to be sent.
        package static func mail(application: ApplicationID, id: ObjectID) -> Place {
            Place(.mails, of: application, [id.description])
        }

        /// The place where the database stores the encrypted key for the hashes of banned identities.
        ///
        /// The installation has one key for all applications.
        package static let banKey = Place(.banKey, of: nil, [])

        /// Returns the place where the database stores an encrypted private key for signing tokens.
        ///
        /// The key signs for one application, or for all applications if `application` is nil.
        package static func tokenKey(id: String, application: ApplicationID?) -> Place {
            Place(.tokenKeys, of: application, [id])
        }

        /// The associated data of the encryption: table, application, row and column, joined by line feeds.
        ///
        /// None of these contains a line feed, since all are printable ASCII.
        var associatedData: [UInt8] { Array([table, application, row, column].joined(separator: "\n").utf8) }
    }

    /// Encrypts a secret for storage at `place` in the database; returns nonce, ciphertext and tag.
    ///
    /// The ciphertext can be decrypted only with the same place.
    package func encrypt(_ secret: Secret, for place: Place) -> [UInt8] {
        encryption.encrypt(secret, authenticating: place.associatedData)
    }

    /// Decrypts a secret that is stored at `place` in the database.
    ///
    /// Nil if it was encrypted with another key or for another place, or if `encrypted` was changed.
    package func open(_ encrypted: [UInt8], at place: Place) -> Secret? {
        encryption.open(encrypted, authenticating: place.associatedData)
    }
}

/// The reason why a text is not a master key.
package struct InvalidMasterKey: Error, CustomStringConvertible {
    package let problem: String
    package var description: String { "the master key \(problem); make one with: openssl rand -base64 32" }
}
