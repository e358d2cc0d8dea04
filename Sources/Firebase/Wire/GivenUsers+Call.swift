import Accounts
import Domain
import Encodings
import Passwords

extension GivenUsers {
    /// Reads the users of a call of `accounts:batchCreate` (docs/protocols/firebase.md §10).
    ///
    /// - Throws: `MISSING_USER_ACCOUNT`, `INVALID_HASH_ALGORITHM`, `INVALID_HASH_PARAMETERS`.
    init(_ fields: CallFields, in application: ServedApplication) throws(Failure) {
        let users = fields.value("users")?.array ?? []
        guard (1...AdminRoutes.maxInBatch).contains(users.count) else {
            throw .google("MISSING_USER_ACCOUNT", "Send 1 to \(AdminRoutes.maxInBatch) users.")
        }
        var records: [JSONObject] = []
        for user in users {
            guard let record = user.object else { throw Failure(.malformedRequest, "A user must be an object.") }
            records.append(Self.renamed(record, in: application))
        }
        let hasHashes = records.contains { $0.present("passwordHash") != nil }
        self.init(records: records, hashing: hasHashes ? try FirebaseHashing(fields) : nil)
    }

    /// Returns a record whose profile has the names of the application's properties.
    private static func renamed(_ record: JSONObject, in application: ServedApplication) -> JSONObject {
        let settings = application.settings
        let names = [
            ("displayName", settings.displayName, "name"), ("photoUrl", settings.photoURL, "photoUrl"),
            ("phoneNumber", settings.phoneNumber, "phoneNumber"),
        ].filter { !$0.1.text.hasSameBytes(as: $0.2) }
        return JSONObject(
            record.members.map { member in
                let renamed = names.first { $0.0.hasSameBytes(as: member.key) }
                return renamed.map { JSONObject.Member($0.1.text, member.value) } ?? member
            }
        )
    }
}

extension FirebaseHashing {
    /// Reads the algorithm of a call's hashes, and its parameters.
    ///
    /// - Throws: `INVALID_HASH_ALGORITHM`, `INVALID_HASH_PARAMETERS`.
    fileprivate init(_ fields: CallFields) throws(Failure) {
        func number(_ name: String) throws(Failure) -> Int {
            guard let number = try fields.text(name).flatMap({ Int($0) }) else {
                throw Self.invalid("\(name) is missing")
            }
            return number
        }
        // The SDKs send base64 in the alphabet of URLs.
        func base64(_ name: String) throws(Failure) -> String {
            String((try fields.text(name) ?? "").map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        }
        let algorithm = try fields.filled("hashAlgorithm") ?? ""
        switch algorithm {
        case "SCRYPT":
            let (signerKey, separator) = (try base64("signerKey"), try base64("saltSeparator"))
            let (rounds, memoryCost) = (try number("rounds"), try number("memoryCost"))
            do throws(ForeignHashProblem) {
                self = .firebaseScrypt(
                    try FirebaseScryptParameters(
                        signerKey: Secret(signerKey),
                        saltSeparator: separator,
                        rounds: rounds,
                        memoryCost: memoryCost
                    )
                )
            } catch {
                throw Self.invalid("\(error)")
            }
        case "BCRYPT": self = .bcrypt
        case "PBKDF2_SHA256": self = .pbkdf2(.sha256, rounds: try number("rounds"))
        case "PBKDF_SHA1": self = .pbkdf2(.sha1, rounds: try number("rounds"))
        case "STANDARD_SCRYPT":
            let cost = try number("cpuMemCost")
            guard cost > 1, cost & (cost - 1) == 0 else { throw Self.invalid("cpuMemCost must be a power of two") }
            self = .scrypt(
                logCost: cost.trailingZeroBitCount,
                blockSize: try number("blockSize"),
                parallelism: try number("parallelization")
            )
        case "MD5", "SHA1", "SHA256", "SHA512":
            guard let digest = ForeignHash.Digest(rawValue: algorithm.lowercased()) else {
                throw Self.unknown(algorithm)
            }
            // The service has no form for a hash of several rounds.
            guard try fields.text("rounds").map({ Int($0) ?? -1 }) ?? 1 <= 1 else {
                throw Self.invalid("\(algorithm) with more than one round is not offered")
            }
            let isAfter = try fields.text("passwordHashOrder") == "PASSWORD_AND_SALT"
            self = .digest(digest, isAfter ? .after : .before)
        default: throw Self.unknown(algorithm)
        }
    }

    private static func unknown(_ algorithm: String) -> Failure {
        .google(
            "INVALID_HASH_ALGORITHM",
            """
            hashAlgorithm must be SCRYPT, STANDARD_SCRYPT, BCRYPT, PBKDF2_SHA256, PBKDF_SHA1, MD5, SHA1, SHA256 or \
            SHA512, it is \(algorithm.prefix(40)).
            """
        )
    }

    private static func invalid(_ why: String) -> Failure {
        .google("INVALID_HASH_PARAMETERS", "No password can be checked with these parameters: \(why).")
    }
}
