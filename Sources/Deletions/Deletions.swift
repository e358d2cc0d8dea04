// Deletions — people whose data go because they have asked for it, at a provider or here.
//
// It owns the code of a request and how requests that are written down are carried out: at once, or when they are due.
// Of a user who is erased it gives up the permissions at providers.
//
// It must not know who may ask, how that is proved, or how a request is spelt: Callbacks and Accounts do.

import Secrets
package import Store
package import Vocabulary

/// The code of a request for deletion: 26 characters of base32, 130 random bits.
package enum DeletionCode {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    private static let length = 26

    package static func make(_ random: RandomSource) -> String {
        String(decoding: random.bytes(length).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
    }

    package static func isCode(_ text: String) -> Bool {
        text.utf8.count == length && text.utf8.allSatisfy(alphabet.contains)
    }
}

extension NewDeletionRequest {
    /// The request for one identity of a provider's call or of an id in a list.
    ///
    /// - Parameters:
    ///   - identity: The identity whose data go.
    ///   - call: A SHA-256 that names the call or the id, so that the same one makes no second request.
    ///   - issued: Unix seconds at which it was signed.
    ///   - days: How long the erasure waits.
    ///   - random: Makes the code.
    package init(of identity: IdentityKey, in call: [UInt8], issued: Int64, days: Int64, random: RandomSource) {
        self.init(
            code: DeletionCode.make(random),
            hash: Digest.sha256("\(identity.provider) \(Base64URL.encode(call))"),
            call: call,
            identity: identity,
            issued: issued,
            days: days
        )
    }
}
