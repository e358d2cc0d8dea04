package import Domain
import Encodings
import Secrets
package import Store

/// Makes and checks the codes of deletion requests: 26 characters of base32, which are 130 random bits.
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
    /// Creates the deletion request for one identity, named by a provider's callback or by an operator's list of ids.
    ///
    /// - Parameters:
    ///   - identity: The identity whose data is to be erased.
    ///   - call: A SHA-256 that identifies the callback or the id. A repeated callback has the same hash, so it creates
    ///     no second request.
    ///   - issued: The time, in Unix seconds, at which the callback was signed.
    ///   - days: The days until the erasure.
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
