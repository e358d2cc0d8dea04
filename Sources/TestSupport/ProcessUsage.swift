import FoundationEssentials
import Glibc

/// The resource usage of a process, as in `/proc`.
package struct ProcessUsage: Sendable {
    /// The current resident memory, in bytes.
    package let residentBytes: Int
    /// The peak resident memory, in bytes.
    package let peakResidentBytes: Int
    /// The processor time of all threads, in steps of 10 ms.
    package let processorTime: Duration
    /// The number of open file descriptors.
    package let openDescriptors: Int

    /// Reads the usage of any running process of the same user.
    ///
    /// - Throws: An error of the file system when there is no such process.
    package init(of pid: Int32) throws {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        residentBytes = Self.kilobytes("VmRSS:", in: status) * 1024
        peakResidentBytes = Self.kilobytes("VmHWM:", in: status) * 1024

        // The second field is the program's name in parentheses and may contain any character. The other fields are
        // numbers.
        let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst()
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Int($0) }.reduce(0, +)
        processorTime = .milliseconds(ticks * 1000 / sysconf(Int32(_SC_CLK_TCK)))

        openDescriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// Returns the processor time of some threads of a process: those whose names begin with the given text.
    ///
    /// - Throws: An error of the file system when there is no such process.
    package static func processorTime(of pid: Int32, ofThreads name: String) throws -> Duration {
        var sum = 0
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            // A thread may have ended in the meantime.
            guard let stat = try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/stat", encoding: .utf8),
                let begin = stat.firstIndex(of: "("), let end = stat.lastIndex(of: ")"),
                stat[stat.index(after: begin)..<end].hasPrefix(name)
            else { continue }
            sum += stat[end...].split(separator: " ").dropFirst(12).prefix(2).compactMap { Int($0) }.reduce(0, +)
        }
        return .milliseconds(sum * 1000 / sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func kilobytes(_ name: String, in status: String) -> Int {
        for line in status.split(separator: "\n") where line.hasPrefix(name) {
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return 0
    }
}
