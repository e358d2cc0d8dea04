package import Crypto
package import Domain
import Encodings
import FoundationEssentials
package import Store

/// A master key of the installation: encrypts secrets with AES-256-GCM (decision D15).
///
/// `Place` names the kinds of secrets. The place of a value is the associated data of its encryption: a ciphertext that
/// is moved to another row, application or column cannot be decrypted there.
package struct MasterKey: Sendable {
    /// The id of the key: the first 8 bytes of its SHA-256 in hex.
    ///
    /// Each ciphertext is stored with the id of its key.
    package let id: String
    private let encryption: EncryptionKey

    /// Creates a key from 32 bytes as base64.
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

    /// Returns a key derived for one purpose (HKDF with SHA-256).
    ///
    /// The derived key does not reveal this key.
    package func derivedKey(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: encryption.key, info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// A place in the database to which a ciphertext is bound.
    package struct Place: Sendable {
        let table: String
        let application: String
        let row: String
        let column: String

        /// Creates the place of a value in a column, from the values of the column's key.
        private init(_ column: EncryptedColumn, of application: ApplicationID?, _ key: [String]) {
            table = column.table
            self.application = application?.text ?? ""
            row = column.row(key)
            self.column = column.name
        }

        /// Creates the place at which a value was read.
        package init(of value: EncryptedValue) { self.init(value.column, of: value.application, value.key) }

        private init(option: String, at provider: ProviderName, of application: ApplicationID) {
            (table, self.application) = ("provider_settings", application.text)
            (row, column) = (provider.text, "options/\(option)")
        }

        /// Returns the place of the secret of a provider's app.
        package static func appSecret(application: ApplicationID, provider: ProviderName, app: ProviderAppID) -> Place {
            Place(.appSecrets, of: application, [provider.text, app.text])
        }

        /// Returns the place of a secret option of a provider.
        package static func secretOption(application: ApplicationID, provider: ProviderName, option: String) -> Place {
            Place(option: option, at: provider, of: application)
        }

        /// Returns the place of the kept token of an identity.
        package static func providerToken(application: ApplicationID, identity: IdentityKey) -> Place {
            Place(.providerTokens, of: application, [identity.provider.text, identity.app.text, identity.subject.text])
        }

        /// Returns the place of the content of a login code.
        ///
        /// The hash of the code names the row.
        package static func loginCode(application: ApplicationID, hash: [UInt8]) -> Place {
            Place(.loginCodes, of: application, ["loginCode", Base64URL.encode(hash)])
        }

        /// Returns the place of a user's password hash.
        package static func passwordHash(application: ApplicationID, user: ObjectID) -> Place {
            Place(.passwordHashes, of: application, [user.description])
        }

        /// Returns the place of the secret of a user's second factor.
        ///
        /// Without an application, the factor is an operator's.
        package static func factor(application: ApplicationID?, user: ObjectID, id: ObjectID) -> Place {
            Place(
                application == nil ? .operatorFactors : .factors,
                of: application,
                [user.description, id.description]
            )
        }

        /// Returns the place of a mail to be sent.
        package static func mail(application: ApplicationID, id: ObjectID) -> Place {
            Place(.mails, of: application, [id.description])
        }

        /// The place of the key for the hashes of banned identities.
        ///
        /// The installation has one such key for all applications.
        package static let banKey = Place(.banKey, of: nil, [])

        /// Returns the place of a private key that signs tokens.
        ///
        /// Without an application, it is the key for all applications.
        package static func tokenKey(id: String, application: ApplicationID?) -> Place {
            Place(.tokenKeys, of: application, [id])
        }

        /// The parts, joined by line feeds.
        ///
        /// No part contains a line feed, since all are printable ASCII.
        var associatedData: [UInt8] { Array([table, application, row, column].joined(separator: "\n").utf8) }
    }

    /// Returns nonce, ciphertext and tag of the encrypted secret, bound to the place.
    package func encrypt(_ secret: Secret, for place: Place) -> [UInt8] {
        encryption.encrypt(secret, authenticating: place.associatedData)
    }

    /// Decrypts a secret; nil when the bytes were encrypted with another key, for another place, or were changed.
    package func open(_ encrypted: [UInt8], at place: Place) -> Secret? {
        encryption.open(encrypted, authenticating: place.associatedData)
    }
}

/// The reason why a text is not a master key.
package struct InvalidMasterKey: Error, CustomStringConvertible {
    package let problem: String
    package var description: String { "the master key \(problem); make one with: openssl rand -base64 32" }
}
