@testable import Accounts
@testable import Applications
import NIOConcurrencyHelpers
import Testing
import TestSupport

@Suite("Reads that many share")
struct CoalescedReadsTests {
    @Test("who asks while a look is under way gets one that begins later, and all who ask meanwhile get the same")
    func shared() async throws {
        let looks = CoalescedReads<Int>()
        let begun = NIOLockedValueBox(0)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            await looks.join {
                begun.withLockedValue { $0 += 1 }
                for await _ in gate { break }
                return 1
            }
        }
        try await eventually("the first look is under way") { begun.withLockedValue { $0 } == 1 }
        let later = (0..<100).map { _ in
            Task {
                await looks.join {
                    begun.withLockedValue {
                        $0 += 1
                        return $0
                    }
                }
            }
        }
        opening.yield()
        #expect(await first.value == 1)
        var seen: Set<Int> = []
        for task in later { seen.insert(await task.value) }
        #expect(!seen.contains(1), "nobody gets what was read before they asked")
        #expect(await looks.join { 7 } == 7, "a look that has ended is nobody's any more")
    }
}
