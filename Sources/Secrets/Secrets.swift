// Secrets — the encryption, hashing and generation of secrets.
//
// It owns the master keys with the places of encrypted values, digests, single-use tokens, the pseudonyms of the log,
// and the sources of randomness and of the time of day.
//
// It must not know applications, providers, or the purpose of a secret beyond the name of its place.

import Crypto

/// SHA-256, the form in which API keys, session tokens and operators' tokens are stored.
package enum Digest {
    package static func sha256(_ text: some StringProtocol) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
