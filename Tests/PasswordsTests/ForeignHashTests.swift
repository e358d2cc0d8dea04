import Domain
import Encodings
@testable import Passwords
import TestSupport
import Testing

@Suite("Hashes of other systems", .serialized)
struct ForeignHashTests {
    /// A password and its hash, as published by the named source.
    struct Vector: Sendable, CustomTestStringConvertible {
        let source: String
        let password: String
        let text: String

        init(_ source: String, _ password: String, _ text: String) {
            (self.source, self.password, self.text) = (source, password, text)
        }

        var testDescription: String { "\(source): \(text.prefix(24))…" }
    }

    static let vectors = [
        Vector(
            "Argon2's reference implementation",
            "password",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        ),
        Vector(
            "Argon2's reference implementation",
            "password",
            "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"
        ),
        Vector(
            "Argon2's reference implementation, before version 1.3",
            "password",
            "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"
        ),
        Vector(
            "authp, four lanes",
            "apple123",
            "$argon2d$v=19$m=65536,t=4,p=4$PUfIWctZa611rpXSOicEAA$eUtgGpyO1+ylLPGhN8gvRXBXF+Zd97kQIZA7OgX4VIM"
        ),
        Vector("crypt_blowfish", "U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        Vector("crypt_blowfish", "U*U*", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
        Vector("crypt_blowfish", "U*U*U", "$2b$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
        Vector(
            "crypt_blowfish, 72 bytes count",
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored",
            "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"
        ),
        Vector("SHA-crypt", "Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        Vector(
            "SHA-crypt",
            "Hello world!",
            "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"
        ),
        Vector(
            "SHA-crypt",
            "Hello world!",
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v."
        ),
        Vector(
            "Supabase, a hash of Firebase's",
            "mytestpassword",
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw=="
        ),
        Vector(
            "passlib",
            "password",
            "$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44"
        ),
        Vector(
            "Django",
            "lètmein",
            "pbkdf2_sha256$260000$seasalt$YlZ2Vggtqdc61YjArZuoApoBh9JNGYoDRBUGu6tcJQo="
        ),
        Vector("Django", "lètmein", "pbkdf2_sha1$260000$seasalt2$wAibXvW6jgvatCdONi6SMJ6q7mI="),
        Vector(
            "VerneMQ, the form of the PHC",
            "password",
            "$pbkdf2-sha512$i=100000,l=64$HqJwOCHweNk1pLryiu3RsA$KVSvxKYcibIG5S5n55RvxKRTdAAfCUtBJoy5IuFzdSZyzkwvUcU+FPawEWFPn+06JyZsndfRTfpiEh+2eSJLkg"
        ),
    ]

    @Test("each published hash matches its password and no other, and is to be made anew", arguments: vectors)
    func published(vector: Vector) async throws {
        try await expect(vector.text, matches: vector.password)
    }

    private func expect(_ text: String, matches password: String) async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        #expect(try await hasher.verify(Secret(password), against: text) == .matches(outdated: true))
        for other in ["X" + password.dropFirst(), String(password.dropLast()) + "\u{1}"] where password.utf8.count < 72
        {
            #expect(try await hasher.verify(Secret(other), against: text) == .differs, "\(other)")
        }
    }

    private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hexadecimal.decode(hex.utf8)) }

    @Test("Firebase's documented example, from the parts that an export and the console show")
    func firebase() async throws {
        let key = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
        let hash = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
        let foreign = try ForeignHash.firebaseScrypt(
            hash: try #require(Base64.decode(hash.utf8)),
            salt: try #require(Base64.decode("42xEC+ixf3L2lw==".utf8)),
            parameters: try FirebaseScryptParameters(
                signerKey: Secret(key),
                saltSeparator: "Bw==",
                rounds: 8,
                memoryCost: 14
            )
        )
        try await expect(foreign.text.reveal(), matches: "user1password")
        #expect("\(foreign) \(String(reflecting: foreign))" == "••• •••")
        var dumped = ""
        dump(foreign, to: &dumped)
        #expect(!dumped.contains("jxspr8"))
    }

    @Test("parameters of a project by which no hash could be checked are none", arguments: [60, 0, 19])
    func firebaseParameters(memoryCost: Int) {
        #expect(throws: ForeignHashProblem.self) {
            try FirebaseScryptParameters(
                signerKey: Secret(Base64.encode([UInt8](repeating: 7, count: 64))),
                saltSeparator: "Bw==",
                rounds: 8,
                memoryCost: memoryCost
            )
        }
    }

    @Test("scrypt of RFC 7914, PBKDF2 of RFC 6070 and RFC 7914")
    func derivedKeys() async throws {
        for (form, salt, hash, password) in [
            (
                "$scrypt$ln=10,r=8,p=16", "NaCl",
                "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
                "password"
            ),
            (
                "$pbkdf2-sha1$i=4096,l=25", "saltSALTsaltSALTsaltSALTsaltSALTsalt",
                "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038", "passwordPASSWORDpassword"
            ),
            (
                "$pbkdf2-sha256$i=1,l=64", "salt",
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
                "passwd"
            ),
        ] {
            let text = "\(form)$\(Base64.encode(Array(salt.utf8)))$\(Base64.encode(try bytes(hash)))"
            try await expect(text, matches: password)
        }
    }

    @Test(
        "the digests of “abc” (RFC 1321, FIPS 180-4), cut up into salt and password in every way",
        arguments: [
            (ForeignHash.Digest.md5, "900150983cd24fb0d6963f7d28e17f72"),
            (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                .sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
            ),
        ]
    )
    func digests(digest: ForeignHash.Digest, hex: String) async throws {
        let cuts: [(salt: String, password: String, ForeignHash.SaltPosition)] = [
            ("", "abc", .before), ("", "abc", .after), ("a", "bc", .before), ("ab", "c", .before), ("c", "ab", .after),
        ]
        for (salt, password, position) in cuts {
            let foreign = try ForeignHash.saltedDigest(
                digest,
                hash: try bytes(hex),
                salt: Array(salt.utf8),
                position: position
            )
            try await expect(foreign.text.reveal(), matches: password)
        }
    }

    @Test("a hash that was made of the bytes as they were sent matches these, and the password in NFC where that was")
    func forms() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        for sent in [composed, decomposed] {
            let digest = ForeignHash.Digest.sha256
            let hash = try #require(SaltedDigest.algorithms["$digest-sha256"]?(Array(sent.utf8)))
            let text = try ForeignHash.saltedDigest(digest, hash: hash, salt: [], position: .before).text.reveal()
            #expect(try await hasher.verify(Secret(sent), against: text) == .matches(outdated: true))
            let other = try await hasher.verify(Secret(sent == composed ? decomposed : composed), against: text)
            #expect(other == (sent == composed ? .matches(outdated: true) : .differs))
        }
    }

    @Test("bcrypt's letters stand for one computation, also of bytes beyond ASCII")
    func letters() async throws {
        // The test vector of passlib, which has the letter `a`.
        let rest = "$05$Z17AXnnlpzddNUvnC6cZNOSwMA/8oNiKnHTHTwLlBijfucQQlHjaG"
        for letter in ["a", "b", "y"] { try await expect("$2\(letter)\(rest)", matches: "tá\u{411}\u{2113}\u{259}") }
    }

    private func problem(of text: String) -> ForeignHashProblem? {
        do throws(ForeignHashProblem) {
            _ = try ForeignHash(Secret(text))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "what would take more than about a second or 64 MiB is refused, and said to be so",
        arguments: [
            "$argon2id$v=19$m=65537,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=65536,t=17,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=65536,t=1,p=17$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$2b$15$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$5$rounds=500001$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            "$scrypt$ln=17,r=8,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$scrypt$ln=14,r=8,p=17$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$scrypt$ln=63,r=8,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-sha256$i=2000001$c2FsdA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-sha1$i=1000001$c2FsdA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "pbkdf2_sha256$9000000000000000000$salt$YlZ2Vggtqdc61YjArZuoApoBh9JNGYoDRBUGu6tcJQo=",
        ]
    )
    func costly(text: String) {
        guard case .costly = problem(of: text) else {
            Issue.record("\(text): \(problem(of: text).map { "\($0)" } ?? "was taken")")
            return
        }
    }

    @Test(
        "the dearest that is taken is checked within seconds",
        arguments: [
            "$argon2id$v=19$m=65536,t=16,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$2b$14$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$6$rounds=500000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
            "$scrypt$ln=15,r=16,p=4$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-sha512$i=2000000$c2FsdA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
        ]
    )
    func dearest(text: String) throws {
        let foreign = try ForeignHash(Secret(text))
        let password = [UInt8](repeating: UInt8(ascii: "x"), count: PasswordRules.maxBytes)
        let (time, matches) = processorTime { foreign.matches(password) }
        #expect(matches == false)
        // A core that is otherwise idle takes about one second in a release build; a debug build does not optimize
        // scrypt.
        #expect(time < .seconds(60), "\(text.prefix(24)): \(time)")
    }

    @Test(
        "what is in no form that is known, or has not what its form asks for, is refused without a word of it",
        arguments: [
            "", "$", "$$", "$$$$$$", "password", "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
            "$2b$5$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2b$+5$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe",
            "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe*",
            "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW\n",
            " $2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$5$rounds=010000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            "$5$saltstringsaltstr$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            "$argon2id$v=20$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1,keyid=x$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1$c29t$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$",
            "$scrypt$ln=16,r=1,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-sha256$i=1,l=31$c2FsdA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-md5$i=1,l=16$c2FsdA$kAFQmDzST7DWlj99KOF/cg",
            "$digest-md5$salt=inside$$kAFQmDzST7DWlj99KOF/cg", "$digest-md5$salt=before$$kAFQmDzST7DWlj99KOF/",
            "$digest-md5$salt=before$$kAFQmDzST7DWlj99KOF/ch", "$digest-md4$salt=before$$kAFQmDzST7DWlj99KOF/cg",
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+A==",
            String(repeating: "$", count: 1024), "$argon2id$" + String(repeating: "m=1,", count: 2000),
        ]
    )
    func refused(text: String) {
        guard let problem = problem(of: text) else {
            Issue.record("\(text) was taken")
            return
        }
        if case .costly = problem { Issue.record("\(text): \(problem)") }
        // The problem may name schemes and parameters, but no salt or hash.
        let parts = text.split { "$=,".contains($0) }.filter { $0.utf8.count > 15 }
        #expect(!parts.contains { "\(problem)".contains($0) }, "\(problem)")
    }

    @Test("ten thousand texts made of pieces of good ones: none ends the process, none takes long")
    func rubbish() throws {
        var random = SplitMix(state: 12)
        let cheap = [
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            "$5$rounds=1000$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            "$fbscrypt$v=1,n=4,r=1,p=1,ss=Bw==,sk=zKVTMvnWVw5BBOZNUdnsag==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsag==",
            "$scrypt$ln=4,r=1,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$pbkdf2-sha256$i=10,l=32$c2FsdA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "pbkdf2_sha1$10$seasalt2$wAibXvW6jgvatCdONi6SMJ6q7mI=",
            "$digest-md5$salt=after$c2FsdA$kAFQmDzST7DWlj99KOF/cg",
        ].map { Array($0.utf8) }
        var taken = 0
        for _ in 0..<10_000 {
            var text = cheap[Int.random(in: cheap.indices, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0...text.count, using: &random)
                let other = cheap[Int.random(in: cheap.indices, using: &random)]
                switch Int.random(in: 0..<5, using: &random) {
                case 0: text = Array(text.prefix(place))
                case 1: text.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
                case 2: text.insert(contentsOf: other.shuffled(using: &random).prefix(3), at: place)
                case 3: text = text.prefix(place) + other.suffix(Int.random(in: 0...other.count, using: &random))
                default: if place < text.count { text[place] = other[place % other.count] }
                }
            }
            let secret = Secret(String(decoding: text, as: UTF8.self))
            guard let foreign = try? ForeignHash(secret) else { continue }
            taken += 1
            let time = processorTime { foreign.matches(Array("password".utf8)) }.time
            #expect(time < .seconds(10), "\(secret.reveal()): \(time)")
        }
        #expect(taken > 100, "\(taken)")
    }

    @Test("a wrong guess at a hash that is checked in no time takes as long as one at no hash")
    func timeOfWrongGuesses() throws {
        let hasher = PasswordHasher(random: .forTests)
        let digest = "$digest-md5$salt=before$$kAFQmDzST7DWlj99KOF/cg"
        func time(of hash: String?, _ password: String) throws -> Duration {
            let check = try hasher.check(Secret(password), against: hash)
            return (0..<3).map { _ in
                let (time, verdict) = processorTime(of: check)
                #expect(verdict == .differs)
                return time
            }.min() ?? .zero
        }
        for password in ["guess", "cafe\u{301}"] {
            let (unknown, foreign) = (try time(of: nil, password), try time(of: digest, password))
            #expect(foreign > unknown / 2, "\(foreign) and \(unknown)")
        }
    }
}

/// A random generator that returns the same numbers in every run.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
