@testable import Accounts
@testable import Applications
import Domain
import Facebook
import Providers
import Testing

@Suite("The configuration in memory, and reads of the database that overlap")
struct ConfigurationMemoryTests {
    /// A configuration memory with the shortcuts of these tests.
    private final class Memory {
        private var state = ConfigurationMemory()

        var copy: ConfigurationMemory.Copy? { state.copy }
        var name: String? { copy?.applications.values.first?.application.name }

        var isSuspending: Bool { state.isSuspending }

        func doubt() { state.doubt() }
        func suspend(_ id: ApplicationID) { state.suspend(id) }
        func beginRead() -> ConfigurationMemory.ReadStart { state.beginRead() }

        /// Takes the result of a read: the changed applications, and the ids of all.
        func take(
            _ revision: Int64,
            _ changed: [LoadedApplication],
            from start: ConfigurationMemory.ReadStart,
            all ids: Set<ApplicationID>? = nil
        ) -> Bool {
            state.take(
                revision: revision,
                ids: ids ?? Set(changed.map(\.application.id)),
                changed: changed,
                from: start
            )
        }

        /// Takes the result of a read with one application, whose name tells the reads apart.
        func take(_ revision: Int64, _ name: String, from start: ConfigurationMemory.ReadStart) throws -> Bool {
            take(revision, [try ConfigurationMemoryTests.application("demo", name)], from: start)
        }
    }

    private static func application(
        _ id: String,
        _ name: String,
        hosts: String = "[]",
        keys: [String] = []
    ) throws -> LoadedApplication {
        let sample = Sample(id: id, name: name, settings: #"{"hostNames":\#(hosts)}"#, keys: keys)
        return LoadedApplication(try sample.stored(), masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
    }

    /// Returns a memory that has read everything at revision 7.
    private static func loaded() throws -> Memory {
        let memory = Memory()
        #expect(memory.beginRead().since == nil)
        #expect(try memory.take(7, "first", from: memory.beginRead()))
        #expect(memory.beginRead().since == 7)
        return memory
    }

    @Test("a doubt outlives a read that was begun before it, whatever that one read")
    func doubtBesideLook() throws {
        for isWhole in [true, false] {
            let memory = try Self.loaded()
            if isWhole { memory.doubt() }
            let start = memory.beginRead()
            #expect((start.since == nil) == isWhole)
            memory.doubt()
            #expect(try memory.take(8, "second", from: start))
            #expect(memory.beginRead().since == nil, "the next read has everything")
            // The result of the next read counts, although its revision is lower.
            #expect(try memory.take(3, "restored", from: memory.beginRead()))
            #expect(memory.name == "restored" && memory.copy?.revision == 3)
            #expect(memory.beginRead().since == 3)
        }
    }

    @Test("a read that was begun before a doubt changes nothing once that doubt is settled")
    func lateLook() throws {
        for isWhole in [true, false] {
            let memory = try Self.loaded()
            if isWhole { memory.doubt() }
            let late = memory.beginRead()
            memory.doubt()
            #expect(try memory.take(5, "restored", from: memory.beginRead()))
            #expect(try !memory.take(9, "of the lost server", from: late))
            #expect(memory.name == "restored" && memory.beginRead().since == 5)
        }
    }

    @Test("of reads that overlap the newest counts, in whatever order they end")
    func overlapping() throws {
        let memory = try Self.loaded()
        let reads = (0..<3).map { _ in memory.beginRead() }
        #expect(try memory.take(9, "third", from: reads[2]))
        #expect(try !memory.take(8, "second", from: reads[1]))
        #expect(try !memory.take(9, "third again", from: reads[0]))
        #expect(memory.name == "third")

        memory.doubt()
        let (one, other) = (memory.beginRead(), memory.beginRead())
        #expect(try memory.take(12, "new", from: other))
        #expect(try !memory.take(11, "old", from: one), "both settle the doubt, and this one read earlier")
        #expect(memory.name == "new")
    }

    @Test("what has not changed stays, and what is gone goes")
    func others() throws {
        let memory = Memory()
        let (a, b) = (try Self.application("a", "A"), try Self.application("b", "B"))
        let (idA, idB) = (a.application.id, b.application.id)
        #expect(memory.take(1, [a, b], from: memory.beginRead(), all: [idA, idB]))
        let newer = try Self.application("b", "B2")
        #expect(memory.take(2, [newer], from: memory.beginRead(), all: [idA, idB]))
        #expect(memory.copy?.applications[idA] === a && memory.copy?.applications[idB] === newer)
        #expect(memory.take(3, [], from: memory.beginRead(), all: [idB]))
        #expect(memory.copy?.applications.keys.map(\.text) == ["b"])
        memory.doubt()
        #expect(memory.take(3, [a], from: memory.beginRead(), all: [idA]))
        #expect(memory.copy?.applications.keys.map(\.text) == ["a"])
    }

    @Test("an application with a change that nobody has read is not served before a later read has read everything")
    func suspended() throws {
        let memory = Memory()
        let (a, b) = (try Self.application("a", "A"), try Self.application("b", "B"))
        let (idA, idB) = (a.application.id, b.application.id)
        #expect(memory.take(1, [a, b], from: memory.beginRead(), all: [idA, idB]))
        let early = memory.beginRead()
        memory.suspend(idA)
        #expect(memory.isSuspending)
        #expect(throws: Failure.self) { try memory.copy?.application(idA) }
        #expect(try memory.copy?.application(idB) === b)
        #expect(memory.take(2, [b], from: early, all: [idA, idB]))
        #expect(throws: Failure.self) { try memory.copy?.application(idA) }
        // The revision is the same: another read may have seen the change already, and this read does not rely on that.
        #expect(memory.take(2, [a, b], from: memory.beginRead(), all: [idA, idB]))
        #expect(try memory.copy?.application(idA) === a && !memory.isSuspending)
    }

    @Test("a host that an application names twice is served; one that two applications name is nobody's")
    func hosts() throws {
        let memory = Memory()
        let a = try Self.application(
            "a",
            "A",
            hosts: #"["twice.example","a.example","twice.example","shared.example"]"#
        )
        let b = try Self.application("b", "B", hosts: #"["b.example","shared.example"]"#)
        let ids: Set = [a.application.id, b.application.id]
        #expect(memory.take(1, [a, b], from: memory.beginRead(), all: ids))
        #expect(memory.copy?.application(host: "twice.example") === a)
        #expect(memory.copy?.application(host: "a.example") === a && memory.copy?.application(host: "b.example") === b)
        #expect(memory.copy?.application(host: "shared.example") == nil)
        #expect(memory.copy?.application(host: "A.example") == nil)
    }

    @Test("a key leads to its application, one that two applications have to neither, and one that is gone to nothing")
    func keys() throws {
        let memory = Memory()
        func found(_ label: String) throws -> LoadedApplication? {
            let found = try memory.copy?.application(key: Sample.key(of: label)[...])
            #expect(found.map { $0.key.label == label } ?? true)
            return found?.application
        }
        let a = try Self.application("a", "A", keys: ["a", "a too", "shared"])
        let b = try Self.application("b", "B", keys: ["b", "shared"])
        let (idA, idB) = (a.application.id, b.application.id)
        #expect(memory.take(1, [a, b], from: memory.beginRead(), all: [idA, idB]))
        #expect(try found("a") === a && found("a too") === a && found("b") === b)
        #expect(try found("shared") == nil && found("unknown") == nil)
        #expect(try memory.copy?.application(key: "") == nil)

        // One key is revoked, and with it the conflict that kept the other application from its key.
        let less = try Self.application("a", "A", keys: ["a too"])
        #expect(memory.take(2, [less], from: memory.beginRead(), all: [idA, idB]))
        #expect(try found("a") == nil && found("a too") === less && found("shared") === b)

        // An application that is suspended, and then one that is deleted.
        memory.suspend(idA)
        #expect(throws: Failure.self) { try found("a too") }
        #expect(memory.take(3, [b], from: memory.beginRead(), all: [idB]))
        #expect(try found("a too") == nil && found("b") === b)
    }
}
