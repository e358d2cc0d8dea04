import FoundationEssentials
import Glibc
import Testing
import TestSupport

@Suite("Waiting with a deadline")
struct WaitingTests {
    private struct NotYet: Error {}

    @Test("returns as soon as the condition holds, errors on the way notwithstanding")
    func holds() async throws {
        var looks = 0
        let value = try await eventually("a third look") { () -> Int? in
            looks += 1
            if looks == 1 { throw NotYet() }
            return looks == 3 ? looks : nil
        }
        #expect(value == 3)
    }

    @Test("names what it waited for and the last error when the deadline passes")
    func passes() async throws {
        let error = await #expect(throws: DeadlinePassed.self) {
            try await eventually("the impossible", within: .milliseconds(30)) { throw NotYet() }
        }
        #expect(error?.what == "the impossible")
        #expect(error?.lastError is NotYet)
    }

    @Test("hands out each free port once, below the ephemeral range")
    func ports() throws {
        let ports = try (0..<50).map { _ in try freePort() }
        #expect(Set(ports).count == 50)
        #expect(ports.allSatisfy { (20_000..<32_000).contains($0) })
    }

    @Test("a product that was not built is named with its path")
    func product() throws {
        let error = #expect(throws: MissingProduct.self) { try PackageLayout.executable("no-such-product") }
        #expect(error?.description.contains("/no-such-product is not there") == true)
    }

    // The environment belongs to the whole process, so the test runs in a process of its own.
    @Test("a product is taken from the folder that the environment names, unless it is older than the sources")
    func chosenProduct() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/federation-test-binaries-\(getpid())"
            setenv("FEDERATION_TEST_BINARIES", folder, 1)
            let files = FileManager.default
            try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? files.removeItem(atPath: folder) }
            for (age, isTaken) in [(0.0, true), (10_000 * 86_400, false)] {
                let attributes: [FileAttributeKey: Any] = [
                    .posixPermissions: 0o755, .modificationDate: Date.now.addingTimeInterval(-age),
                ]
                #expect(files.createFile(atPath: folder + "/federation", contents: nil))
                try files.setAttributes(attributes, ofItemAtPath: folder + "/federation")
                if isTaken {
                    #expect(try PackageLayout.executable("federation") == folder + "/federation")
                } else {
                    #expect(throws: StaleProduct.self) { try PackageLayout.executable("federation") }
                }
            }
        }
    }
}
