import Glibc

/// Statistics of this process, from /proc/self (proc(5)).
package enum ProcessStatistics {
    /// Returns the current statistics, under the names of Prometheus' own client libraries.
    package static func samples() -> [MetricSample] {
        var samples: [MetricSample] = []
        if let fields = statFields() {
            // Index 0 is the third field, which follows the process name. The fields are numbered from 1: utime is 14,
            // stime 15, starttime 22, and rss 24.
            let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
            if let user = fields.number(at: 11), let system = fields.number(at: 12) {
                samples.append(MetricSample("process_cpu_seconds_total", [], .number((user + system) / ticks)))
            }
            if let start = fields.number(at: 19), let boot = bootTime() {
                samples.append(MetricSample("process_start_time_seconds", [], .number(boot + start / ticks)))
            }
            if let bytes = resident(fields) {
                samples.append(MetricSample("process_resident_memory_bytes", [], .number(bytes)))
            }
        }
        if let open = openDescriptors() { samples.append(MetricSample("process_open_fds", [], open)) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            samples.append(MetricSample("process_max_fds", [], limit.rlim_cur))
        }
        return samples
    }

    /// Returns the resident memory of the process, in bytes.
    private static func resident(_ fields: [Substring]) -> Double? {
        fields.number(at: 21).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// Returns the fields of /proc/self/stat that follow the name of the process.
    ///
    /// The name is in parentheses and may contain any character.
    private static func statFields() -> [Substring]? {
        guard let text = text(of: "/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split { $0 == " " || $0 == "\n" }
    }

    /// Returns the boot time of the system, in Unix seconds.
    private static func bootTime() -> Double? {
        let line = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst("btime ".count)) }
    }

    private static func openDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var entries = 0
        while readdir(folder) != nil { entries += 1 }
        // Three entries do not count: `.`, `..`, and the descriptor of this directory.
        return entries - 3
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &part, part.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += part.prefix(count)
        }
    }
}

extension [Substring] {
    fileprivate func number(at index: Int) -> Double? { indices.contains(index) ? Double(self[index]) : nil }
}
