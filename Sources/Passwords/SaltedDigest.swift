import Crypto
import Encodings

/// A password hash that is one digest of the concatenated salt and password, as some other systems store it.
///
/// The text form is this service's own: `$digest-sha256$salt=before$`, salt and digest as base64.
struct SaltedDigest: PasswordHash {
    private let algorithm: Algorithm
    private let position: ForeignHash.SaltPosition
    private let salt: [UInt8]
    private let digest: [UInt8]

    typealias Algorithm = @Sendable (_ bytes: [UInt8]) -> [UInt8]

    static let algorithms: [String: Algorithm] = [
        "$digest-md5": { Array(Insecure.MD5.hash(data: $0)) },
        "$digest-sha1": { Array(Insecure.SHA1.hash(data: $0)) },
        "$digest-sha256": { Array(SHA256.hash(data: $0)) },
        "$digest-sha512": { Array(SHA512.hash(data: $0)) },
    ]

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        guard let algorithm = Self.algorithms[fields.scheme] else { throw .unknownForm }
        let rest = try fields.rest(3)
        guard let name = try HashFields.parameters(rest[0], ["salt"])["salt"],
            let position = ForeignHash.SaltPosition(rawValue: String(name))
        else { throw .malformed("its parameter salt is neither before nor after") }
        salt = try HashFields.bytes(rest[1])
        digest = try HashFields.bytes(rest[2])
        guard salt.count <= 128, digest.count == algorithm([]).count else {
            throw .malformed("its salt or its digest has another length than is used")
        }
        (self.algorithm, self.position) = (algorithm, position)
    }

    func matches(_ password: [UInt8]) -> Bool? {
        algorithm(position == .before ? salt + password : password + salt).isEqualInConstantTime(to: digest)
    }
}
