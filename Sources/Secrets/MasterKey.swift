package import Crypto
import FoundationEssentials
import Store
package import Vocabulary

/// The key under which secrets are stored (app secrets, kept tokens, what login codes stand for, mails on their way):
/// AES-256-GCM, with the place of a value as associated data (decision D15).
///
/// A ciphertext that is moved to another row, application or column does not open there.
package struct MasterKey: Sendable {
    /// Names the key beside every ciphertext: the first 8 bytes of its SHA-256 in hex, so the same key has the same
    /// name everywhere.
    package let id: String
    private let sealing: SealingKey

    /// Takes 32 bytes as base64.
    ///
    /// - Throws: `InvalidMasterKey` with what is wrong; the text itself is never repeated.
    package init(base64 text: Secret) throws(InvalidMasterKey) {
        let trimmed = text.reveal().filter { !$0.isWhitespace }
        guard let bytes = Data(base64Encoded: trimmed) else { throw InvalidMasterKey(problem: "is not base64") }
        guard bytes.count == 32 else {
            throw InvalidMasterKey(problem: "holds \(bytes.count) bytes instead of 32")
        }
        sealing = SealingKey(key: SymmetricKey(data: bytes))
        id = Hexadecimal.encode(SHA256.hash(data: bytes).prefix(8))
    }

    /// A key for one purpose, derived from this one, which it does not give away (HKDF with SHA-256).
    package func derivedKey(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: sealing.key, info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// A place in the database: what a ciphertext is bound to.
    package struct Place: Sendable {
        let table: String
        let application: String
        let row: String
        let column: String

        /// The secret of one app of a provider.
        package static func appSecret(application: ApplicationID, provider: ProviderName, app: ProviderAppID) -> Place {
            Place(
                table: "provider_apps",
                application: application.text,
                row: "\(provider)/\(app)",
                column: "secret"
            )
        }

        /// A secret among the options of a provider.
        package static func secretOption(application: ApplicationID, provider: ProviderName, option: String) -> Place {
            Place(
                table: "provider_settings",
                application: application.text,
                row: provider.text,
                column: "options/\(option)"
            )
        }

        /// The kept token of one identity.
        package static func providerToken(application: ApplicationID, identity: IdentityKey) -> Place {
            Place(
                table: "identities",
                application: application.text,
                row: identity.path,
                column: "token"
            )
        }

        /// What a login code stands for, under the hash of its text.
        package static func loginCode(application: ApplicationID, hash: [UInt8]) -> Place {
            Place(
                table: "single_use",
                application: application.text,
                row: "loginCode/" + Base64URL.encode(hash),
                column: "payload"
            )
        }

        /// The hash of a user's password.
        package static func passwordHash(application: ApplicationID, user: ObjectID) -> Place {
            Place(table: "passwords", application: application.text, row: user.description, column: "hash")
        }

        /// What is secret of a second factor; without an application that of an operator.
        package static func factor(application: ApplicationID?, user: ObjectID, id: ObjectID) -> Place {
            Place(
                table: application == nil ? "operator_factors" : "factors",
                application: application?.text ?? "",
                row: "\(user)/\(id)",
                column: "secret"
            )
        }

        /// A mail on its way.
        package static func mail(application: ApplicationID, id: ObjectID) -> Place {
            Place(table: "mails", application: application.text, row: id.description, column: "content")
        }

        /// The key under which banned identities are hashed, which belongs to the service as a whole.
        package static let banKey = Place(table: "ban_key", application: "", row: "", column: "secret")

        /// The private key of signed tokens; without an application that of all together.
        package static func tokenKey(id: String, application: ApplicationID?) -> Place {
            Place(table: "token_keys", application: application?.text ?? "", row: id, column: "secret")
        }

        /// None of the parts can hold the separator: they are ASCII that prints.
        var associatedData: [UInt8] { Array([table, application, row, column].joined(separator: "\n").utf8) }
    }

    /// Nonce, ciphertext and tag of the secret, bound to the place.
    package func seal(_ secret: Secret, for place: Place) -> [UInt8] {
        sealing.seal(secret, authenticating: place.associatedData)
    }

    /// The secret, or nil when the bytes were sealed under another key, for another place, or were changed.
    package func open(_ sealed: [UInt8], at place: Place) -> Secret? {
        sealing.open(sealed, authenticating: place.associatedData)
    }
}

/// Why a text is no master key.
package struct InvalidMasterKey: Error, CustomStringConvertible {
    package let problem: String
    package var description: String { "the master key \(problem); make one with: openssl rand -base64 32" }
}
