import Domain
import Logins
import Store
import Testing

@Suite("What waits to be written of logins")
struct LoginBufferTests {
    /// Returns a login for a word such as `a+1@x`.
    ///
    /// The word has the application, the outcome, the time as a number, and the source. The outcome is `+` for success,
    /// `-` for a refusal, and `?` for a pending login.
    private func record(_ word: String) throws -> LoginRecord {
        let sign = try #require(word.dropFirst().first)
        let refused = sign != "+"
        let parts = word.dropFirst(2).split(separator: "@", maxSplits: 1)
        let moment = try #require(parts.first)
        return LoginRecord(
            application: try #require(ApplicationID(String(word.prefix(1)))),
            happened: try #require(Int64(moment)),
            method: .password,
            provider: nil,
            credential: "password",
            outcome: refused ? .refused : .updated,
            reason: refused ? sign == "?" ? .secondFactorRequired : .loginInvalid : nil,
            cause: nil,
            user: nil,
            request: nil,
            source: parts.count > 1 ? String(parts[1]) : nil,
            userAgent: nil,
            session: nil,
            milliseconds: 1
        )
    }

    private func words(_ records: [LoginRecord]) -> String {
        records.map { "\($0.application)\($0.outcome == .refused ? "-" : "+")\($0.happened)" }.joined(separator: " ")
    }

    private func numbers(_ counts: [LoginKind: LoginCount]) -> LoginCount {
        counts.values.reduce(LoginCount(), +)
    }

    @Test(
        "a turn has all that went well, and of what was refused so much as there is room for",
        arguments: [
            // Added logins and kept logins: a turn keeps four refused ones.
            ("a+1 a-2 b+3", "a+1 a-2 b+3"),
            ("a+1 a+2 a+3 a+4 a+5 a+6", "a+1 a+2 a+3 a+4 a+5 a+6"),
            // The first refusals of the turn stay, and no success makes room for more,
            ("a-1 a-2 a-3 a-4 a-5 a-6", "a-1 a-2 a-3 a-4"),
            ("a-1 a-2 a-3 a-4 a-5 a+6 a-7", "a-1 a-2 a-3 a-4 a+6"),
            // nor does a pending login.
            ("a-1 a-2 a-3 a-4 a?5 a-6", "a-1 a-2 a-3 a-4 a-5"),
            // A flood at one application hides no login of another,
            ("a-1 a-2 a-3 a-4 a-5 b-6", "a-1 a-2 a-3 b-6"),
            ("a-1 a-2 a-3 a-4 b+5 b-6 b-7 b-8", "a-1 a-2 b+5 b-6 b-7"),
            ("a-1 b-2 c-3 d-4 e-5", "a-1 b-2 c-3 d-4"),
            // and a flood from one source hides no other source of the same application.
            ("a-1@x a-2@x a-3@x a-4@x a-5@x a-6@y", "a-1 a-2 a-3 a-6"),
            ("a-1@x a-2@x a-3@x a-4@x a-5@y a-6@y a-7@y", "a-1 a-2 a-5 a-6"),
            ("a-1@x a-2@x a-3@x a-4@x a-5@y a-6@z", "a-1 a-2 a-5 a-6"),
            // A source in IPv6 is a /64.
            ("a-1@2001:db8::1 a-2@2001:db8::2 a-3@2001:db8::3:4 a-4@2001:db8:0:0:9::1 a-5@9.9.9.9", "a-1 a-2 a-3 a-5"),
            ("a-1@2001:db8::1 a-2@2001:db8:0:1::1 a-3@::1 a-4@2001:db8:0:2::1 a-5@192.0.2.1", "a-1 a-2 a-3 a-4"),
        ]
    )
    func turn(_ heard: String, _ kept: String) throws {
        var buffer = LoginBuffer(maxPerTurn: 4)
        let all = heard.split(separator: " ")
        for word in all { buffer.add(try record(String(word))) }
        #expect(buffer.take(max: 100).records.isEmpty, "the turn is not over")
        #expect(buffer.endTurn() == 0)
        let batch = buffer.take(max: 100)
        #expect(words(batch.records) == kept)
        #expect(buffer.take(max: 100).isEmpty)
    }

    @Test("whatever is left out, all are counted, and once")
    func counts() throws {
        var buffer = LoginBuffer(maxPerTurn: 3)
        for turn in 0..<4 {
            for number in 0..<10 { buffer.add(try record("\(number % 3 == 0 ? "a-" : "b+")\(turn * 60_000 + number)")) }
            _ = buffer.endTurn()
        }
        let batch = buffer.take(max: 100)
        #expect(batch.records.count == 36)
        #expect(numbers(batch.counts) == LoginCount(logins: 40, unlisted: 4))
        #expect(batch.counts.count == 8, "of four minutes, two kinds each")
        for (kind, count) in batch.counts {
            #expect(count.logins == (kind.outcome == .refused ? 4 : 6), "\(kind)")
            let rows = batch.records.count { LoginKind($0) == kind }
            #expect(count.unlisted == count.logins - Int64(rows), "\(kind)")
        }
    }

    @Test("while the database takes nothing the newest wait, within a bound, and in their order")
    func outage() throws {
        var buffer = LoginBuffer(maxPerTurn: 2, turnsWaiting: 2)
        for number in 1...3 {
            buffer.add(try record("a+\(number)"))
            _ = buffer.endTurn()
        }
        let taken = buffer.take(max: 2)
        #expect(words(taken.records) == "a+1 a+2")
        buffer.putBack(taken)
        for number in 4...6 {
            buffer.add(try record("a+\(number)"))
            _ = buffer.endTurn()
        }
        #expect(words(buffer.take(max: 3).records) == "a+3 a+4 a+5")
        let rest = buffer.take(max: 3)
        #expect(words(rest.records) == "a+6")
        var late = LoginBuffer(maxPerTurn: 2, turnsWaiting: 2)
        for batch in [taken, rest] { late.putBack(batch) }
        #expect(numbers(late.take(max: 9).counts) == LoginCount(logins: 3))
    }

    @Test("while the database takes nothing, what was refused makes room first")
    func refusedFirst() throws {
        var buffer = LoginBuffer(maxPerTurn: 2, turnsWaiting: 2)
        for word in ["a+1", "a-2", "a+3", "a-4", "a+5", "a+6", "a+7"] {
            buffer.add(try record(word))
            _ = buffer.endTurn()
        }
        let batch = buffer.take(max: 9)
        #expect(words(batch.records) == "a+3 a+5 a+6 a+7")
        #expect(numbers(batch.counts) == LoginCount(logins: 7, unlisted: 3))
    }

    @Test("a batch that can never be written loses its rows, and its logins stay counted")
    func poisoned() throws {
        var buffer = LoginBuffer(maxPerTurn: 2)
        buffer.add(try record("a-1"))
        buffer.add(try record("a-2"))
        _ = buffer.endTurn()
        buffer.leave(buffer.take(max: 9))
        let batch = buffer.take(max: 9)
        #expect(batch.records.isEmpty)
        #expect(numbers(batch.counts) == LoginCount(logins: 2, unlisted: 2))
    }

    @Test("numbers are bounded, too, and what is in none is told")
    func uncounted() throws {
        var buffer = LoginBuffer(maxPerTurn: 1)
        for minute in 0..<10_003 { buffer.add(try record("a+\(minute * 60_000)")) }
        #expect(buffer.endTurn() == 3)
        #expect(buffer.endTurn() == 0)
        #expect(buffer.take(max: 20_000).counts.count == 10_000)
    }
}
