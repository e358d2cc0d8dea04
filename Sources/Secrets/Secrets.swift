// Secrets — what must not be guessed and what must not be read.
//
// It owns the master keys and what is sealed under them and where, digests, tokens that are given out once, the
// pseudonyms of the log, and where randomness and the time of day come from.
//
// It must not know of applications, of providers, or of what any secret is for beyond the name of its place.

import Crypto

/// SHA-256, the form in which API keys, session tokens and operators' tokens are stored.
package enum Digest {
    package static func sha256(_ text: some StringProtocol) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
