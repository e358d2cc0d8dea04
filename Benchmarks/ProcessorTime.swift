import Foundation
import Glibc

/// The processor time of processes, from /proc.
enum ProcessorTime {
    /// Returns the seconds that all threads of a process have used.
    static func of(_ pid: Int32) -> Double {
        fields(of: pid).map { Double($0.ticks) / ticksPerSecond } ?? 0
    }

    /// Returns the seconds that a process, its children, and its reaped children have used.
    static func ofFamily(_ pid: Int32) -> Double {
        let pids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        let family = pids.compactMap(fields).filter { $0.parent == pid }
        let own = fields(of: pid).map { $0.ticks + $0.buried } ?? 0
        return Double(own + family.map(\.ticks).reduce(0, +)) / ticksPerSecond
    }

    private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    private static func fields(of pid: Int32) -> (parent: Int32, ticks: Int, buried: Int)? {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[name...].split(separator: " ").dropFirst().map(String.init)
        guard fields.count > 15, let parent = Int32(fields[1]) else { return nil }
        let numbers = fields[11...14].compactMap { Int($0) }
        guard numbers.count == 4 else { return nil }
        return (parent, numbers[0] + numbers[1], numbers[2] + numbers[3])
    }
}
