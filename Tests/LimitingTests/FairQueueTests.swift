import Domain
@testable import Limiting
import NIOConcurrencyHelpers
import Testing

@Suite("A fair queue")
struct FairQueueTests {
    private static func queue(width: Int, max: Int = 1000) -> FairQueue {
        FairQueue(width: width, max: max, refusal: Failure(.overloaded, "Busy.", retryAfter: 1))
    }

    /// Holds the only place while `body` runs, or until it calls `release`.
    private static func held(
        _ queue: FairQueue,
        by holder: ApplicationID,
        _ body: (_ release: @Sendable () -> Void) async throws -> Void
    ) async throws {
        let (began, isBegun) = AsyncStream.makeStream(of: Void.self)
        let (end, isOver) = AsyncStream.makeStream(of: Void.self)
        async let holding: Void = queue.pass(of: holder, before: .now + .seconds(60)) { () throws(Failure) in
            isBegun.finish()
            for await _ in end {}
        }
        for await _ in began {}
        try await body { isOver.finish() }
        isOver.finish()
        try await holding
    }

    private static func waiting(_ count: Int, in queue: FairQueue) async {
        while queue.statistics.waiting != count { await Task.yield() }
    }

    @Test("so many go through at once, and everybody in the end, also when some of them fail")
    func width() async throws {
        let queue = Self.queue(width: 3)
        let shop = try application("shop")
        let inside = NIOLockedValueBox((now: 0, max: 0, all: 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    _ = try? await queue.pass(of: shop, before: .now + .seconds(60)) { () throws(Failure) in
                        inside.withLockedValue { $0 = ($0.now + 1, Swift.max($0.max, $0.now + 1), $0.all + 1) }
                        await Task.yield()
                        inside.withLockedValue { $0.now -= 1 }
                        if number.isMultiple(of: 7) { throw Failure.sessionInvalid }
                    }
                }
            }
        }
        let (now, max, all) = inside.withLockedValue(\.self)
        #expect(now == 0 && all == 500)
        #expect((1...3).contains(max))
        #expect(queue.statistics == (0, 0) && queue.isIdle(shop))
    }

    @Test("whose time is over before it is their turn is told so, and nothing is done for them")
    func deadline() async throws {
        let queue = Self.queue(width: 1)
        let (shop, game) = (try application("shop"), try application("game"))
        func beLate(by time: Duration) async {
            let failure = await #expect(throws: Failure.self) {
                try await queue.pass(of: shop, before: .now + time) { () throws(Failure) in
                    Issue.record("it was done all the same")
                }
            }
            #expect(failure?.reason == .overloaded)
        }
        await beLate(by: .seconds(-1))
        // The holder gives the place back only after the refusal, so only the clock can cause the refusal.
        try await Self.held(queue, by: game) { _ in await beLate(by: .milliseconds(20)) }
        #expect(try await queue.pass(of: shop, before: .now + .seconds(60)) { () throws(Failure) in true })
    }

    @Test("applications take turns, and the sources of one within its turns, whatever the order of arrival")
    func turns() async throws {
        let queue = Self.queue(width: 1)
        let (shop, game) = (try application("shop"), try application("game"))
        let served = NIOLockedValueBox<[String]>([])
        let arrivals = [
            (shop, "flood"), (shop, "flood"), (shop, "flood"), (shop, "flood"), (shop, "quiet"), (game, "flood"),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await Self.held(queue, by: shop) { release in
                for (number, (application, source)) in arrivals.enumerated() {
                    group.addTask {
                        try await RequestSender.$current.withValue(RequestSender(source: source)) {
                            try await queue.pass(of: application, before: .now + .seconds(60)) { () throws(Failure) in
                                served.withLockedValue { $0.append("\(application) \(source)") }
                            }
                        }
                    }
                    await Self.waiting(number + 1, in: queue)
                }
                release()
            }
            try await group.waitForAll()
        }
        #expect(
            served.withLockedValue(\.self) == [
                "shop flood", "game flood", "shop quiet", "shop flood", "shop flood", "shop flood",
            ]
        )
    }

    @Test("in a full queue whoever has most waiting makes room for whoever has least")
    func room() async throws {
        let queue = Self.queue(width: 1, max: 4)
        let (shop, game) = (try application("shop"), try application("game"))
        let outcomes = NIOLockedValueBox<[String: Int]>([:])
        @Sendable func pass(_ application: ApplicationID, _ source: String) async {
            let isDone = await RequestSender.$current.withValue(RequestSender(source: source)) {
                do throws(Failure) {
                    try await queue.pass(of: application, before: .now + .seconds(60)) { () throws(Failure) in }
                    return true
                } catch {
                    return false
                }
            }
            let name = "\(application) \(source) \(isDone ? "done" : "refused")"
            outcomes.withLockedValue { $0[name, default: 0] += 1 }
        }
        func refusals(_ count: Int) async {
            while outcomes.withLockedValue({ $0.values.reduce(0, +) }) != count { await Task.yield() }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await Self.held(queue, by: shop) { release in
                for _ in 0..<7 { group.addTask { await pass(shop, "flood") } }
                await refusals(3)
                group.addTask { await pass(game, "one") }
                await refusals(4)
                group.addTask { await pass(shop, "quiet") }
                await refusals(5)
                #expect(queue.statistics == (1, 4))
                release()
            }
            try await group.waitForAll()
        }
        #expect(
            outcomes.withLockedValue(\.self) == [
                "shop flood refused": 5, "shop flood done": 2, "shop quiet done": 1, "game one done": 1,
            ]
        )
    }
}
