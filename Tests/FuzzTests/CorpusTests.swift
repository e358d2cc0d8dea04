import FoundationEssentials
import Testing
import TestSupport

@testable import Fuzz

/// Tests that run the fuzzer's seeds without the fuzzer: each target has seeds, and keeps its promises on all of them.
@Suite("Seeds of the fuzzer")
struct CorpusTests {
    private static func folder(_ target: String) -> String { PackageLayout.path("Tests/FuzzTests/Corpus/" + target) }

    private static func seeds(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        try FileManager.default.contentsOfDirectory(atPath: folder(target.name)).sorted().map { name in
            (name, Array(try Data(contentsOf: URL(filePath: "\(folder(target.name))/\(name)"))))
        }
    }

    @Test("each target takes some of its seeds and refuses others, and breaks no promise", arguments: FuzzTarget.all)
    func verdicts(target: FuzzTarget) throws {
        var (taken, refused) = (0, 0)
        for seed in try Self.seeds(of: target) {
            do {
                if try target.feed(seed.bytes) { taken += 1 } else { refused += 1 }
            } catch {
                Issue.record("\(seed.name): \(error)")
            }
        }
        #expect(taken >= 4)
        #expect(refused >= 2)
    }

    @Test("a seed that ends at any byte breaks no promise either", arguments: FuzzTarget.all)
    func prefixes(target: FuzzTarget) throws {
        for seed in try Self.seeds(of: target) {
            for end in seed.bytes.indices {
                #expect(throws: Never.self, "\(seed.name), \(end) bytes") { try target.feed(Array(seed.bytes[..<end])) }
            }
        }
    }

    @Test("every folder of seeds is a target's, and every target has one")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder(""))
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }

    @Test("a promise that is not kept is an error that says which")
    func broken() {
        let error = #expect(throws: BrokenPromise.self) { try promise("two is two", 2 == 3) }
        #expect(error?.description == "broken promise: two is two")
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    /// The name of the target.
    public var testDescription: String { name }
}
