import NIOConcurrencyHelpers
import Testing
import Vocabulary

@testable import Limiting

@Suite("A semaphore")
struct SemaphoreTests {
    @Test("so many go through at once, and everybody in the end, also when some of them fail")
    func width() async throws {
        let semaphore = Semaphore(width: 3)
        let inside = NIOLockedValueBox((now: 0, most: 0, all: 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    _ = try? await semaphore.pass(before: .now + .seconds(60)) { () throws(Failure) in
                        inside.withLockedValue {
                            $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1)
                        }
                        await Task.yield()
                        inside.withLockedValue { $0.now -= 1 }
                        if number.isMultiple(of: 7) { throw Failure.sessionInvalid }
                    }
                }
            }
        }
        let (now, most, all) = inside.withLockedValue(\.self)
        #expect(now == 0 && all == 500)
        #expect((1...3).contains(most))
    }

    @Test("whose time is over before it is their turn is told so, and nothing is done for them")
    func deadline() async throws {
        let semaphore = Semaphore(width: 1)
        let failure = await #expect(throws: Failure.self) {
            try await semaphore.pass(before: .now - .seconds(1)) { () throws(Failure) in
                Issue.record("it was done all the same")
            }
        }
        #expect(failure?.reason == .overloaded)
        #expect(
            try await semaphore.pass(before: .now + .seconds(60)) { () throws(Failure) in true },
            "the place is free"
        )
    }
}
