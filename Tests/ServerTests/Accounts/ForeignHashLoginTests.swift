import Crypto
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Logins with a password whose hash another system made",
    .serialized,
    // A debug build on a busy machine is slow at ten million rounds.
    .deployed(Document(mapping: #"{"email": "email"}"#), environment: ["FEDERATION_LOGIN_MILLISECONDS": "60000"])
)
struct ForeignHashLoginTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let key = SymmetricKey(data: Data("canary-master-key-of-32-bytes-!!".utf8))

    private func place(of user: String) -> Data { Data("passwords\ndemo\n\(user)\nhash".utf8) }

    private func put(_ hash: String, of user: String) async throws {
        let encrypted = try AES.GCM.seal(Data(hash.utf8), using: Self.key, authenticating: place(of: user)).combined
        let hex = Hexadecimal.encode(try #require(encrypted))
        try await deployment.database.psql("update demo.passwords set hash = '\\x\(hex)' where object_id = '\(user)'")
    }

    private func hash(of user: String) async throws -> String {
        let question = "select encode(hash, 'hex') from demo.passwords where object_id = '\(user)'"
        let hex = try #require(try await deployment.value(question))
        let encrypted = try AES.GCM.SealedBox(combined: try #require(Hexadecimal.decode(hex.utf8)))
        return String(
            decoding: try AES.GCM.open(encrypted, using: Self.key, authenticating: place(of: user)),
            as: UTF8.self
        )
    }

    /// A hash of each kind, published by its source (PasswordsTests has more of them).
    private static let kinds = [
        ("password", "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"),
        ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        ("Hello world!", "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"),
        (
            "Hello world!",
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v."
        ),
        (
            "mytestpassword",
            "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw=="
        ),
        (
            "pleaseletmein",
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw"
        ),
        ("password", "$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44"),
        ("lètmein", "pbkdf2_sha1$260000$seasalt2$wAibXvW6jgvatCdONi6SMJ6q7mI="),
        ("bc", "$digest-md5$salt=before$YQ$kAFQmDzST7DWlj99KOF/cg"),
        ("ab", "$digest-sha1$salt=after$Yw$qZk+NkcGgWq6PiVxeFDCbJzQ2J0"),
    ]

    @Test("each kind logs in once by it, and by Argon2id from then on; a wrong password changes nothing")
    func kinds() async throws {
        for (number, (password, hash)) in Self.kinds.enumerated() {
            let email = "kind\(number).canary@example.com"
            let user = try await deployment.register(email)["objectId"]?.string ?? ""
            try await put(hash, of: user)
            func attempt(_ password: String) async throws -> HTTPReply {
                try await deployment.send("POST", "users/login", #"{"login": "\#(email)", "password": "\#(password)"}"#)
            }
            try expectProblem(try await attempt("x" + password), "login_invalid")
            #expect(try await self.hash(of: user) == hash, "\(hash)")
            let first = try deployment.signedIn(try await attempt(password))
            #expect(try await deployment.isValid(first.token), "the session is one of the new hash")
            let anew = try await self.hash(of: user)
            #expect(anew.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"), "\(hash)")
            #expect(try await attempt(password).status == 200)
            #expect(try await self.hash(of: user) == anew, "\(hash)")
            try expectProblem(try await attempt("x" + password), "login_invalid")
        }
    }

    @Test(
        "one that is stored in no known form, or that asks for too much, is the operator's to mend, and logs nobody in"
    )
    func unreadable() async throws {
        let user = try await deployment.register("odd.canary@example.com")["objectId"]?.string ?? ""
        for hash in ["five", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"] {
            try await put(hash, of: user)
            let body = #"{"login": "odd.canary@example.com", "password": "five"}"#
            #expect(try await deployment.send("POST", "users/login", body).status == 500)
        }
    }
}
