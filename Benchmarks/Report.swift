import Foundation
import Histogram
import TestSupport

/// A printer of figures for humans; scripts/performance-page reads the rows of aims from the output.
struct Report {
    /// Prints the cost of requests, and the ratios of the targets to the first one, which are taken round by round.
    func costs(_ what: String, _ costs: Costs, order: [String]) {
        let order = order.filter { costs[$0] != nil }
        print("\n\(what); medians; processor time in microseconds and the write-ahead log in bytes, of a request\n")
        line(["", "requests/s", "CPU", "PostgreSQL CPU", "log records", "log page images", "memory MB"])
        for name in order {
            guard let of = costs[name] else { continue }
            line([
                name, figure(median(of.map(\.perSecond)), 0), figure(median(of.map(\.process)), 1),
                figure(median(of.map(\.database)), 1), figure(median(of.map(\.logBytes)), 0),
                figure(median(of.map(\.pageImageBytes)), 0), figure(of.last?.residentMegabytes ?? 0, 1),
            ])
        }
        print("")
        guard let first = order.first, order.count > 1 else { return }
        line(["over \(first)", "requests/s", "CPU", "PostgreSQL CPU", "both"], width: 26)
        for name in order.dropFirst() {
            let values: [(Cost) -> Double] = [\.perSecond, \.process, \.database, { $0.process + $0.database }]
            line([name] + values.map { rounds(costs.ratios(of: name, to: first, $0), 2) }, width: 26)
        }
        print("")
    }

    /// Prints the processor time of each PostgreSQL server for a login.
    func servers(_ costs: Costs, order: [String], of servers: [String]) {
        line(["PostgreSQL CPU"] + servers)
        for name in order {
            let of = costs[name] ?? []
            line([name] + servers.indices.map { server in figure(median(of.map { $0.servers[server] }), 1) })
        }
        print("")
    }

    /// Prints a figure with an aim, as the median of its rounds: a row of the table of scripts/performance-page.
    func aim(_ what: String, _ values: [Double], atMost bound: Double, unit: String = "") {
        let outcome = median(values) <= bound ? "met" : "not met"
        let measured = rounds(values, unit.isEmpty ? 2 : 1)
        print("| \(what) | ≤ \(String(format: "%g", bound))\(unit) | \(measured)\(unit) | \(outcome) |")
    }

    /// Prints how many requests Facebook received while ID tokens were verified.
    func calls(_ count: Int) {
        print("calls to Facebook in all rounds: \(count) (the aim is none: the keys are known)")
    }

    /// Prints the time of a login beyond the slower of its two calls to Graph.
    ///
    /// The slower of two calls is below a value with the squared probability of one call, so its median is the 70.7th
    /// percentile of one call.
    func latency(of name: String, outcome: Load.Outcome, graph: Load.Outcome, graphDelay: Int) {
        func slower(_ percentile: Double) -> Double {
            Double(graph.latency.valueAtPercentile((percentile / 100).squareRoot() * 100)) / 1000
        }
        func added(_ percentile: Double, over base: Double) -> String {
            figure(Double(outcome.latency.valueAtPercentile(percentile)) / 1000 - base, 2)
        }
        let delay = Double(graphDelay)
        print(
            """
            open loop, \(name): \(outcome.count) logins, Graph told to answer after \(graphDelay) ms
              beyond \(graphDelay) ms, in ms: p50 \(added(50, over: delay)), p99 \(added(99, over: delay)), \
            p99.9 \(added(99.9, over: delay))
              beyond the slower of two Graph calls as measured beside it (p50 \(figure(slower(50), 2)), p99 \
            \(figure(slower(99), 2))): p50 \(added(50, over: slower(50))), p99 \(added(99, over: slower(99)))
            """
        )
    }

    func pagesHead(users: Int, rows: Int, requests: Int) {
        print("\nPages of the console among \(users) users and \(rows) logins, \(requests) requests each, in ms")
        line(["", "p50", "p95", "slowest"], width: 36)
    }

    /// Prints the times of a page.
    ///
    /// - Returns: The 95th percentile in milliseconds.
    func page(_ name: String, _ outcome: Load.Outcome) -> Double {
        let times = [50.0, 95.0, 100.0].map { Double(outcome.latency.valueAtPercentile($0)) / 1000 }
        line([name] + times.map { figure($0, 1) }, width: 36)
        return times[1]
    }

    /// Prints the memory of the process before and after many pending logins.
    func waiting(_ count: Int, before: Int, after: Int) {
        func mebibytes(_ bytes: Int) -> String { figure(Double(bytes) / 1_048_576, 1) }
        print("\n\(count) logins left waiting: \(mebibytes(before)) MiB before, \(mebibytes(after)) MiB after")
    }

    /// Prints the statuses of wrong codes; the service refuses a code with status 429 without a check.
    func guesses(_ replies: [Int: Int]) {
        let all = replies.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
        print("\n\(replies.values.reduce(0, +)) wrong codes for one factor from as many sources: \(all)")
    }

    /// Prints the times from the start of instances until they are ready.
    func starts(_ milliseconds: [Double], applications: Int) {
        let what = applications == 1 ? "1 application" : "\(applications) applications"
        aim("Start to ready, \(what)", [median(milliseconds)], atMost: 300, unit: " ms")
        print("Start to ready, \(what): \(milliseconds.map { figure($0, 0) }.joined(separator: ", ")) ms")
    }

    /// Prints the memory of idle connections.
    func idle(_ connections: Int, before: Int, after: Int) {
        aim(
            "Memory of an idle connection, \(connections) of them",
            [Double(after - before) / 1000 / Double(connections)],
            atMost: 32,
            unit: " KB"
        )
        func megabytes(_ bytes: Int) -> String { figure(Double(bytes) / 1_000_000, 1) }
        print("\(megabytes(before)) MB after the start, \(megabytes(after)) MB with \(connections) idle connections")
    }

    /// Prints the head of the measurements of a program on a new system.
    func fresh(_ name: String, people: Int, seconds: Double) {
        print("\n\(name): logins of \(people) people, tables analyzed at one session, measurements of \(seconds) s")
        line(["", "logins/s", "PostgreSQL CPU µs", "sessions then"])
    }

    func fresh(_ name: String, _ cost: Cost, sessions: String) {
        line([name, figure(cost.perSecond, 0), figure(cost.database, 1), sessions])
    }

    func applicationsHead(first: Int, seconds: Double, rounds: Int, connections: Int) {
        print(
            """
            Logins into applications in turns, \(connections) connections: the first \(first) logins, then \(rounds) rounds of \
            \(seconds) s, medians. Processor time is in microseconds a login; memory is what a PostgreSQL process has to itself.
            Compare within this run only.

            """
        )
        line([
            "applications", "program", "start ms", "first: CPU µs", "PostgreSQL CPU µs", "then: logins/s", "CPU µs",
            "PostgreSQL CPU µs", "largest process MiB", "all processes MiB",
        ])
    }

    /// Prints the cost with one number of applications, beside the cost with the first number.
    func applications(_ count: Int, _ name: String, _ of: ManyApplications, comparedWith base: ManyApplications?) {
        func mebibytes(_ bytes: Int) -> String { figure(Double(bytes) / 1_048_576, 0) }
        func ratio(_ cost: (Cost) -> Double) -> String {
            guard let base else { return "" }
            return " (× \(figure(median(of.costs.map(cost)) / median(base.costs.map(cost)), 2)))"
        }
        line([
            "\(count)", name, figure(of.startMilliseconds, 0), figure(of.first.process, 1),
            figure(of.first.database, 1),
            figure(median(of.costs.map(\.perSecond)), 0), figure(median(of.costs.map(\.process)), 1) + ratio(\.process),
            figure(median(of.costs.map(\.database)), 1) + ratio(\.database), mebibytes(of.backendBytes.max() ?? 0),
            mebibytes(of.backendBytes.reduce(0, +)),
        ])
    }

    /// Prints latencies of logins with or without background work beside them.
    func maintenance(_ name: String, _ outcome: Load.Outcome, checks: Int) {
        func milliseconds(_ percentile: Double) -> String {
            figure(Double(outcome.latency.valueAtPercentile(percentile)) / 1000, 2)
        }
        line([
            name, "\(outcome.count) logins", "\(checks) checks", "p50 \(milliseconds(50)) ms",
            "p99 \(milliseconds(99)) ms",
            "p99.9 \(milliseconds(99.9)) ms",
        ])
    }

    /// Prints latencies of logins without, beside and after an import.
    func logins(_ name: String, _ outcome: Load.Outcome) {
        func milliseconds(_ percentile: Double) -> String {
            figure(Double(outcome.latency.valueAtPercentile(percentile)) / 1000, 2)
        }
        line([
            name, "\(outcome.count) logins", "p50 \(milliseconds(50)) ms", "p99 \(milliseconds(99)) ms",
            "p99.9 \(milliseconds(99.9)) ms",
        ])
    }

    func imported(_ users: Int, in seconds: Double, peakBytes: Int) {
        line([
            "imported", "\(users) users", "\(figure(seconds, 1)) s", "\(figure(Double(users) / seconds, 0)) a second",
            "peak memory \(figure(Double(peakBytes) / 1_048_576, 0)) MiB",
        ])
    }

    func imported(_ users: Int, byBatchesOf batch: Int, in seconds: Double) {
        line([
            "by batches of \(batch)", "\(users) users", "\(figure(seconds, 1)) s",
            "\(figure(seconds * 1_000_000 / Double(users), 0)) µs a user",
        ])
    }

    /// Prints latencies of Facebook logins with or without password logins beside them.
    func passwords(_ name: String, _ outcome: Load.Outcome, beside: Load.Outcome) {
        func milliseconds(_ percentile: Double) -> String {
            figure(Double(outcome.latency.valueAtPercentile(percentile)) / 1000, 2)
        }
        line([
            name, "\(outcome.count) logins", "p50 \(milliseconds(50)) ms", "p99 \(milliseconds(99)) ms",
            "by password: \(beside.replies.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))",
        ])
    }

    /// Prints the times of searches without and with an index, one search at a time.
    func searches(_ costs: [(name: String, costs: [Load.Outcome])], users: Int) {
        print("\nSearches among \(users) users, one at a time, in ms")
        line(["", "p50 without", "p99 without", "p50 with index", "p99 with index"])
        for (name, costs) in costs {
            let cells = costs.flatMap { cost in
                [50.0, 99.0].map { figure(Double(cost.latency.valueAtPercentile($0)) / 1000, 2) }
            }
            line([name] + cells)
        }
    }

    /// Prints latencies of logins with or without slow searches beside them.
    func searches(_ name: String, _ outcome: Load.Outcome, beside: Load.Outcome) {
        func milliseconds(_ percentile: Double) -> String {
            figure(Double(outcome.latency.valueAtPercentile(percentile)) / 1000, 2)
        }
        line([
            name, "\(outcome.count) logins", "p50 \(milliseconds(50)) ms", "p99 \(milliseconds(99)) ms",
            "searches: \(beside.replies.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))",
        ])
    }

    /// Prints the peak of memory beside its bound.
    func memory(before: Int, peak: Int, bound: Int) {
        func megabytes(_ bytes: Int) -> String { figure(Double(bytes) / 1_048_576, 1) }
        print(
            """

            Memory at its peak: \(megabytes(before)) MB before, \(megabytes(peak)) MB in the end (before + slots × 19 MiB + 32 KiB for each login: \(megabytes(bound)))
            """
        )
    }

    func hang(_ outcome: Load.Outcome, healthReplies: Int, peakBytes: Int) {
        print(
            """

            Graph hanging: \(outcome.count) logins at once, statuses \(outcome.replies), slowest \
            \(figure(Double(outcome.latency.max) / 1_000_000, 2)) s; meanwhile \(healthReplies) health replies
            """
        )
        aim(
            "Memory at its peak, \(outcome.count) logins waiting for a provider that hangs",
            [Double(peakBytes) / 1_000_000],
            atMost: 80,
            unit: " MB"
        )
    }

    /// Prints the results of an overload, and the time of the recovery.
    func overload(
        _ outcome: Load.Outcome,
        peak: Double,
        goodput: Double,
        accepted: Duration,
        refused: (p50: Duration, p99: Duration),
        recovery: Duration?
    ) {
        let replies = outcome.replies.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
        print(
            """
            peak: \(figure(peak, 0)) logins/s of 64 connections
            overload: \(figure(outcome.offered, 0)) a second for \(figure(outcome.seconds, 0)) s, statuses \
            \(replies.joined(separator: ", ")); goodput \(figure(100 * goodput, 0)) % of the peak (aim: 80), p99 of \
            accepted \(accepted.figure) (aim: 5 s); of refusals p50 \(refused.p50.figure) (aim: 50 ms), p99 \
            \(refused.p99.figure)
            half load: as before after \(recovery?.figure ?? "more than 15 s") (aim: 10 s)
            """
        )
    }

    private func line(_ cells: [String], width: Int = 20) {
        print(cells.map { $0.padding(toLength: max(width, $0.count + 2), withPad: " ", startingAt: 0) }.joined())
    }

    private func figure(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    /// Returns the median, followed by all values if there are several.
    private func rounds(_ values: [Double], _ digits: Int) -> String {
        let all = values.count > 1 ? " (\(values.map { figure($0, digits) }.joined(separator: ", ")))" : ""
        return figure(median(values), digits) + all
    }

    private func median(_ values: [Double]) -> Double {
        values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }
}
