import Crypto
package import Domain

/// A key for AES-256-GCM.
///
/// Decryption needs the same key, the same associated data, and unchanged bytes.
package struct EncryptionKey: Sendable {
    let key: SymmetricKey

    /// Encrypts a secret, with `data` as the associated data; returns nonce, ciphertext and tag.
    package func encrypt(_ secret: Secret, authenticating data: [UInt8]) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(Array(secret.reveal().utf8), using: key, authenticating: data)
            return box.combined.map(Array.init) ?? []
        } catch {
            // AES-GCM refuses only inputs of more than 64 GiB.
            preconditionFailure("a secret of \(secret.byteCount) bytes cannot be encrypted")
        }
    }

    /// Decrypts a secret.
    ///
    /// Nil if the secret was encrypted with another key or other associated data, or if `encrypted` was changed.
    package func open(_ encrypted: [UInt8], authenticating data: [UInt8]) -> Secret? {
        guard let box = try? AES.GCM.SealedBox(combined: encrypted),
            let plain = try? AES.GCM.open(box, using: key, authenticating: data),
            let text = String(validating: plain, as: UTF8.self)
        else { return nil }
        return Secret(text)
    }
}
