import FoundationEssentials
import Glibc
import TestSupport

/// A wrong clock for a process that is started with its ``environment``.
///
/// `CLOCK_REALTIME` is off by the seconds of the last ``set(_:)``, at once and in all threads. Waits and measurements
/// use other clocks.
///
/// Debian's libfaketime does not serve: with most offsets Swift programs fail to start, since it changes waits as well.
struct FaultClock: Sendable {
    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static const volatile int64_t *offset;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("FAULT_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            void *memory = file < 0 ? MAP_FAILED : mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            if (file >= 0) close(file);
            if (memory != MAP_FAILED) offset = memory;
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int status = syscall(SYS_clock_gettime, clock, now);
            if (status == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
                now->tv_sec += *offset;
            return status;
        }

        int gettimeofday(struct timeval *restrict now, void *restrict zone) {
            struct timespec time;
            (void)zone;
            if (clock_gettime(CLOCK_REALTIME, &time)) return -1;
            now->tv_sec = time.tv_sec;
            now->tv_usec = time.tv_nsec / 1000;
            return 0;
        }

        time_t time(time_t *result) {
            struct timespec now;
            if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }
        """

    private let folder: String

    private var library: String { folder + "/clock.so" }
    private var offset: String { folder + "/offset" }

    /// The variables that make a process use this clock.
    var environment: [String: String] { ["LD_PRELOAD": library, "FAULT_CLOCK": offset] }

    /// Lends a clock, which is right until ``set(_:)``.
    static func with(_ body: (FaultClock) async throws -> Void) async throws {
        let clock = FaultClock(folder: "/tmp/federation-clock-\(UUID())")
        try FileManager.default.createDirectory(atPath: clock.folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: clock.folder) }
        try clock.set(0)
        let source = clock.folder + "/clock.c"
        try Self.source.write(toFile: source, atomically: false, encoding: .utf8)
        // The toolchain's compiler, which SwiftPM uses, too.
        let compiler = try await run("clang", ["-shared", "-fPIC", "-Wall", "-Werror", "-o", clock.library, source])
        guard compiler.exitStatus == .exited(0) else { throw ClockFailure(text: compiler.standardError) }
        try await body(clock)
    }

    /// Sets the clock that many seconds ahead of the true time, or (negative) behind it.
    func set(_ seconds: Int64) throws {
        let descriptor = open(offset, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ClockFailure(text: offset) }
        defer { close(descriptor) }
        // Written in place, since processes have mapped the file.
        _ = withUnsafeBytes(of: seconds) { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    struct ClockFailure: Error {
        let text: String
    }
}
