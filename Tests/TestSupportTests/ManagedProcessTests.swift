import Glibc
import Testing
import TestSupport

@Suite("Managed processes")
struct ManagedProcessTests {
    @Test(
        "tell how they ended",
        arguments: [
            ("exit 0", ProcessEnd.exited(0)), ("exit 75", .exited(75)), ("kill -KILL $$", .signalled(SIGKILL)),
            ("kill -TERM $$", .signalled(SIGTERM)),
        ]
    )
    func exit(script: String, expected: ProcessEnd) async throws {
        let process = try await run("bash", ["-c", script])
        #expect(process.exitStatus == expected)
    }

    @Test("a program that does not exist ends with 127")
    func missing() async throws {
        let process = try await run("/no/such/program")
        #expect(process.exitStatus == .exited(127))
    }

    @Test("never block on output, however much it is")
    func output() async throws {
        let process = try await run(
            "bash",
            ["-c", "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; echo end"]
        )
        #expect(process.standardOutput.utf8.count == 3_000_004)
        #expect(process.standardOutput.hasSuffix("end\n"))
        #expect(process.standardError.utf8.count == 2_000_000)
    }

    @Test("see the given environment and nothing of ours but what every program needs")
    func environment() async throws {
        setenv("FEDERATION_STRAY", "stray", 1)
        let process = try await run("env", environment: ["GIVEN": "given"])
        let names = Set(process.standardOutput.split(separator: "\n").map { String($0.prefix { $0 != "=" }) })
        #expect(names.contains("GIVEN"))
        #expect(names.subtracting(ManagedProcess.inheritedVariables) == ["GIVEN"])
    }

    @Test("get SIGTERM and may take their time to end")
    func terminate() async throws {
        let process = try await ManagedProcess.start(
            "bash",
            ["-c", "trap 'sleep 0.1; exit 3' TERM; echo ready; while :; do sleep 0.02; done"]
        )
        try await process.waitUntilReady { process.standardOutput == "ready\n" }
        #expect(try await process.terminate() == .exited(3))
        #expect(!process.isRunning)
    }

    @Test("are killed when they ignore SIGTERM past the deadline")
    func stubborn() async throws {
        let process = try await ManagedProcess.start(
            "bash",
            ["-c", "trap '' TERM; echo ready; while :; do sleep 0.02; done"]
        )
        try await process.waitUntilReady { process.standardOutput == "ready\n" }
        await #expect(throws: DeadlinePassed.self) { try await process.terminate(within: .milliseconds(100)) }
        #expect(process.exitStatus == .signalled(SIGKILL))
    }

    @Test("can be killed while frozen")
    func frozen() async throws {
        let process = try await ManagedProcess.start("sleep", ["60"])
        process.freeze()
        try await process.kill()
        #expect(process.exitStatus == .signalled(SIGKILL))
    }

    @Test("that end while one waits for them to be ready are reported with what they wrote")
    func endedEarly() async throws {
        let process = try await ManagedProcess.start("bash", ["-c", "echo cannot bind >&2; exit 69"])
        let error = await #expect(throws: ProcessEnded.self) { try await process.waitUntilReady { false } }
        #expect(error?.status == .exited(69))
        #expect(error?.description.contains("cannot bind") == true)
    }

    @Test("show memory, processor time and descriptors")
    func usage() async throws {
        let process = try await ManagedProcess.start(
            "bash",
            ["-c", "exec 7</dev/null; echo ready; while :; do :; done"]
        )
        try await process.waitUntilReady { process.standardOutput == "ready\n" }
        try await eventually("processor time is used") { try process.usage().processorTime >= .milliseconds(50) }
        let usage = try process.usage()
        #expect(usage.residentBytes > 500_000 && usage.residentBytes < 100_000_000)
        #expect(usage.peakResidentBytes >= usage.residentBytes)
        #expect(usage.openDescriptors >= 4)
        try await process.kill()
        #expect(throws: (any Error).self) { try process.usage() }
    }
}
