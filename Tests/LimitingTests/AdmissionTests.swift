import Dispatch
import Domain
@testable import Limiting
import NIOConcurrencyHelpers
import Testing

@Suite("Admission", .timeLimit(.minutes(2)))
struct AdmissionTests {
    @Test("many of several applications pass, never more at once than there are places, and all places are free again")
    func concurrent() async throws {
        let admission = Admission(.init(logins: 10_000, writes: 4...8, timeout: .seconds(60), maxWaiting: 10_000))
        let names = try ["shop", "game", "news"].map { try configured($0) }
        let highest = await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<3000 {
                group.addTask {
                    try await admission.admit(names[number % 3].id) { () throws(Failure) in
                        try await admission.write(of: names[number % 3]) { () throws(Failure) in
                            await Task.yield()
                            if number % 7 == 0 { throw Failure.sessionInvalid }
                            return admission.statistics.writes.underWay
                        }
                    }
                }
            }
            var highest = 0
            while let result = await group.nextResult() {
                if case .success(let underWay) = result { highest = max(highest, underWay) }
            }
            return highest
        }
        #expect((1...8).contains(highest))
        let end = admission.statistics
        #expect(end.logins.underWay == 0 && end.writes.underWay == 0 && end.writes.waiting == 0)
        #expect(end.refused.logins == 0 && end.refused.writes == 0)
    }

    @Test("who waits for a place that nobody gives back is refused, and nothing is done for them")
    func refused() async throws {
        let admission = Admission(.init(writes: 1...1, timeout: .milliseconds(50)))
        let shop = try configured("shop")
        let running = Task { await admission.run() }
        defer { running.cancel() }
        let failure = try await admission.write(of: shop) { () throws(Failure) -> Failure? in
            do throws(Failure) {
                try await admission.write(of: shop) { () throws(Failure) -> Void in
                    Issue.record("it was done all the same")
                }
                return nil
            } catch { return error }
        }
        #expect(failure?.reason == .overloaded && failure?.retryAfter == 1)
        #expect(admission.statistics.refused.writes == 1)
        #expect(try await admission.write(of: shop) { () throws(Failure) in true }, "the place is free")
    }

    @Test("who waited behind writes that found no database is told of that, until one finds it")
    func away() async throws {
        let admission = Admission(.init(writes: 1...1, timeout: .milliseconds(50)))
        let shop = try configured("shop")
        let running = Task { await admission.run() }
        defer { running.cancel() }
        func refusal() async throws -> Failure.Reason? {
            try await admission.write(of: shop) { () throws(Failure) -> Failure.Reason? in
                do throws(Failure) {
                    try await admission.write(of: shop) { () throws(Failure) -> Void in }
                    return nil
                } catch { return error.reason }
            }
        }
        await #expect(throws: Failure.self) {
            try await admission.write(of: shop) { () throws(Failure) -> Void in
                throw Failure(.storeUnavailable, "It is away.")
            }
        }
        #expect(try await refusal() == .storeUnavailable)
        #expect(try await refusal() == .overloaded)
    }

    @Test("each database has a room of its own: one that is full, or away, keeps nobody from the others")
    func rooms() async throws {
        let admission = Admission(.init(writes: 1...1, timeout: .milliseconds(50)))
        let variable: DatabaseVariable = try #require(DatabaseVariable("GAME_DATABASE_URL"))
        let (game, news) = (try configured("game", at: variable), try configured("news", at: variable))
        let shop = try configured("shop")
        let running = Task { await admission.run() }
        defer { running.cancel() }
        await #expect(throws: Failure.self) {
            try await admission.write(of: game) { () throws(Failure) -> Void in
                throw Failure(.storeUnavailable, "It is away.")
            }
        }
        func refusal(of application: Application) async -> Failure.Reason? {
            do throws(Failure) {
                try await admission.write(of: application) { () throws(Failure) in }
                return nil
            } catch { return error.reason }
        }
        try await admission.write(of: game) { () throws(Failure) in
            #expect(admission.statistics.writes.underWay == 1)
            #expect(await refusal(of: news) == .storeUnavailable, "its room is the one of game")
            #expect(await refusal(of: shop) == nil)
        }
        #expect(await refusal(of: news) == nil, "the place is free, and a write has found the database")
        #expect(admission.statistics.writes.limit == 2 && admission.statistics.refused.writes == 1)
    }

    @Test("one more login than there may be is refused at once")
    func entrance() async throws {
        let admission = Admission(.init(logins: 1))
        let shop = try application("shop")
        let failure = try await admission.admit(shop) { () throws(Failure) -> Failure? in
            do throws(Failure) {
                try await admission.admit(shop, orRefuse: "Later.") { () throws(Failure) in }
                return nil
            } catch { return error }
        }
        #expect(failure?.reason == .overloaded && failure?.message == "Later.")
        #expect(admission.statistics.refused.logins == 1)
    }

    @Test("when writes of an application wait for too long, its logins are refused before anything is done for them")
    func door() async throws {
        let admission = Admission(.init(logins: 100, writes: 1...1, timeout: .milliseconds(150)))
        let (shop, game) = (try configured("shop"), try configured("game"))
        let running = Task { await admission.run() }
        defer { running.cancel() }
        let isOver = NIOLockedValueBox(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await admission.write(of: shop) { () throws(Failure) in
                // The only place stays taken, and every refused waiter tries again.
                for _ in 0..<40 {
                    group.addTask {
                        try await admission.admit(shop.id) { () throws(Failure) in
                            while !isOver.withLockedValue({ $0 }), !Task.isCancelled {
                                do throws(Failure) {
                                    try await admission.write(of: shop) { () throws(Failure) in }
                                } catch { #expect(error.reason == .overloaded) }
                            }
                        }
                    }
                }
                while await isLetIn(shop, to: admission), !Task.isCancelled { await Task.yield() }
                // A busy machine lowers the limit of all applications, which then grows again.
                while await !isLetIn(game, to: admission), !Task.isCancelled { await Task.yield() }
                isOver.withLockedValue { $0 = true }
            }
            try await group.waitForAll()
        }
        #expect(await isLetIn(shop, to: admission), "nothing of it is under way any more")
    }

    @Test(
        "long waits teach the entrance when the database is there, not when it is away or others filled the room",
        arguments: [Waits.forWrites, .forNoDatabase, .forNoRoom]
    )
    func lessons(_ waits: Waits) async throws {
        let admission = Admission(
            .init(logins: 40, writes: 1...1, timeout: .milliseconds(20), maxWaiting: waits == .forNoRoom ? 1 : 100)
        )
        let (shop, game) = (try configured("shop"), try configured("game"))
        let places = Admission.minLogins + 2
        let (end, left) = (NIOLockedValueBox<ContinuousClock.Instant?>(nil), NIOLockedValueBox(places))
        @Sendable func isOver() -> Bool { end.withLockedValue { $0.map { $0 <= .now } ?? false } }
        let (all, finish) = (Gate(), Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer {
                all.open()
                finish.open()
            }
            if waits == .forNoRoom {
                // One call holds the only place, the other fills the waiting room.
                for _ in 0..<2 {
                    group.addTask {
                        try await admission.write(of: game) { () throws(Failure) in await finish.passed() }
                    }
                }
                try await Self.until { admission.statistics.writes.waiting == 1 }
            }
            for _ in 0..<places {
                group.addTask {
                    try await admission.admit(shop.id) { () throws(Failure) in
                        while !isOver(), !Task.isCancelled {
                            do throws(Failure) {
                                try await admission.write(of: shop) { () throws(Failure) in
                                    await all.passed()
                                    try? await Task.sleep(for: .milliseconds(20))
                                    if waits == .forNoDatabase { throw Failure(.storeUnavailable, "It is away.") }
                                }
                            } catch { try? await Task.sleep(for: .milliseconds(1)) }
                        }
                        left.withLockedValue { $0 -= 1 }
                        await finish.passed()
                    }
                }
            }
            // Measured from the arrival of all: long enough for an interval without the first call, which did not wait.
            try await Self.until {
                let statistics = admission.statistics
                return statistics.logins.underWay == places
                    && (waits == .forNoRoom || statistics.writes.waiting == places - 1)
            }
            end.withLockedValue { $0 = .now + .milliseconds(1300) }
            all.open()
            try await Self.until { left.withLockedValue { $0 == 0 } }
            #expect(await isLetIn(shop, to: admission) == (waits != .forWrites))
            finish.open()
            try await group.waitForAll()
        }
    }

    private static func until(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    enum Waits { case forWrites, forNoDatabase, forNoRoom }

    @Test("where the executor of requests is late, what was let in is done elsewhere, until it is not")
    func behind() async throws {
        let (admission, executor, shop) = (Admission(), HeldExecutor(), try application("shop"))
        let running = Task { await admission.run(servedBy: [executor]) }
        defer {
            running.cancel()
            executor.open()
        }
        func whereItIsDone() async throws -> UnownedTaskExecutor? {
            try await admission.admit(shop) { () throws(Failure) in
                withUnsafeCurrentTask { $0?.unownedTaskExecutor }
            }
        }
        #expect(try await whereItIsDone() == nil, "where the request is")

        while !executor.isAsked, !Task.isCancelled { await Task.yield() }
        try await Task.sleep(for: Admission.requestLateness + .milliseconds(1))
        executor.doFirst()
        while admission.statistics.behind == 0, !Task.isCancelled { await Task.yield() }
        #expect(try await whereItIsDone() == globalConcurrentExecutor.asUnownedTaskExecutor())

        while admission.statistics.behind > 0, !Task.isCancelled {
            executor.doFirst()
            await Task.yield()
        }
        #expect(try await whereItIsDone() == nil)
    }

    private func isLetIn(_ application: Application, to admission: Admission) async -> Bool {
        do throws(Failure) {
            try await admission.admit(application.id) { () throws(Failure) in }
            return true
        } catch { return false }
    }
}

/// A gate that blocks all callers until it opens.
private final class Gate: Sendable {
    private let continuation: AsyncStream<Never>.Continuation
    private let opened: Task<Void, Never>

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        self.continuation = continuation
        opened = Task { for await _ in stream {} }
    }

    func open() { continuation.finish() }

    func passed() async { await opened.value }
}

/// A task executor that runs a job only when told to.
private final class HeldExecutor: TaskExecutor {
    private let state = NIOLockedValueBox((jobs: [UnownedJob](), isOpen: false))
    private let thread = DispatchQueue(label: "held")

    /// Whether a job waits.
    var isAsked: Bool { state.withLockedValue { !$0.jobs.isEmpty } }

    func doFirst() {
        if let job = state.withLockedValue({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) { run(job) }
    }

    /// Runs all waiting jobs, and from now on every job at once.
    func open() {
        let jobs = state.withLockedValue { state in
            defer { state = ([], true) }
            return state.jobs
        }
        for job in jobs { run(job) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLockedValue { state in
            if !state.isOpen { state.jobs.append(job) }
            return state.isOpen
        }
        if isOpen { run(job) }
    }

    private func run(_ job: UnownedJob) {
        thread.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
