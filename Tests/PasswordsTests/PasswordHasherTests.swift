import Domain
import Passwords
import Testing

@Suite("Hashing passwords", .serialized)
struct PasswordHasherTests {
    @Test("a password matches its own hash and no other does; each hash has its own salt")
    func matching() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        let hash = try await hasher.hash(Secret("nine green bottles"))
        #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(try await hasher.hash(Secret("nine green bottles")) != hash)
        #expect(try await hasher.verify(Secret("nine green bottles"), against: hash) == .matches(outdated: false))
        #expect(try await hasher.verify(Secret("nine green bottleS"), against: hash) == .differs)
        #expect(try await hasher.verify(Secret("nine green bottles"), against: nil) == .differs)
    }

    @Test("the hash for a missing password is known as such, and is a current one that no password matches")
    func unset() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        let hash = try #require(UnsetPassword.hash(random: .forTests))
        #expect(UnsetPassword.isHash(hash))
        #expect(hash.reveal().hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(try await hasher.verify(Secret("no password here"), against: hash.reveal()) == .differs)
        for text in [try await hasher.hash(Secret("nine green bottles")), "$argon2id$x", "", "five"] {
            #expect(!UnsetPassword.isHash(Secret(text)), "\(text)")
        }
    }

    @Test("one password in two of Unicode's forms is one password")
    func forms() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        let hash = try await hasher.hash(Secret("caf\u{e9} \u{1e69} \u{ac00} and more"))
        let decomposed = Secret("cafe\u{301} s\u{307}\u{323} \u{1100}\u{1161} and more")
        #expect(try await hasher.verify(decomposed, against: hash) == .matches(outdated: false))
    }

    @Test("every byte counts, up to the last")
    func noTruncation() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        let long = String(repeating: "x", count: 255)
        let hash = try await hasher.hash(Secret(long + "a"))
        #expect(try await hasher.verify(Secret(long + "b"), against: hash) == .differs)
        #expect(try await hasher.verify(Secret(long + "a"), against: hash) == .matches(outdated: false))
    }

    @Test(
        "a hash of weaker parameters is known as such; what is no hash, or asks for much memory, is not computed"
    )
    func parameters() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 64, random: .forTests)
        // A test vector of argon2's reference implementation.
        let weak = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        #expect(try await hasher.verify(Secret("password"), against: weak) == .matches(outdated: true))
        let foreign = [
            "", "password", weak.replacing("argon2id", with: "argon2x"), weak.replacing("m=256", with: "m=1048576"),
            weak.replacing("m=256", with: "m=-1"), "$2y$10$abcdefghijklmnopqrstuv",
        ]
        for hash in foreign {
            await #expect(throws: Failure.self, "\(hash)") {
                try await hasher.verify(Secret("password"), against: hash)
            }
        }
    }

    @Test("what has no slot waits, what has no room is refused at once, and what is late is not begun")
    func bounds() async throws {
        let hasher = PasswordHasher(slots: 1, queue: 3, random: .forTests)
        let outcomes = await withTaskGroup(of: Failure.Reason?.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    do {
                        _ = try await hasher.hash(Secret("nine green bottles"))
                        return nil
                    } catch {
                        return (error as? Failure)?.reason ?? .internal
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == nil } >= 3)
        #expect(outcomes.contains(.overloaded))
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .overloaded })
        let late = await #expect(throws: Failure.self) {
            try await hasher.hash(Secret("nine green bottles"), deadline: .now)
        }
        #expect(late?.reason == .overloaded)
        #expect(late?.retryAfter != nil)
        _ = try await hasher.hash(Secret("nine green bottles"))
    }
}

extension RandomSource {
    static let forTests = RandomSource { count in (0..<count).map { _ in .random(in: .min ... .max) } }
}

/// Calls with one application and a default deadline.
extension PasswordHasher {
    private static let application = ApplicationID("tests")

    func hash(
        _ password: Secret,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws -> String {
        try await hash(password, of: try #require(Self.application), deadline: deadline)
    }

    func verify(_ password: Secret, against hash: String?) async throws -> Verdict {
        try await verify(password, of: try #require(Self.application), against: hash)
    }
}
