import ArgumentParser
import Foundation
import Histogram
import TestSupport

/// A measurement of logins during an overload of many times the capacity, and of the recovery.
struct OverloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload",
        abstract: "F-40: goodput under many times the capacity, the time of a refusal, and how soon all is as before.",
        discussion: """
            The load comes from the same processors as the service, and what it takes itself would count as lost \
            goodput. So commits are delayed as by a slower disk: the database is what is overloaded. With \
            --commit-delay 0 it is the processors.
            Exit 1 when less than 80 % of the peak gets through, what is accepted takes longer than 5 s, half of what \
            is refused takes longer than 50 ms, a login gets no reply or another one, logins are not as before within \
            10 s, the process is another one, or less than half of the load could be sent.
            """
    )

    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Seconds of the overload.")
    var seconds = 120.0
    @Option(help: "How many times the capacity comes.")
    var times = 10.0
    @Option(help: "Connections of the overload.")
    var connections = 2000
    @Option(help: "Milliseconds that a commit takes at least, up to 100.")
    var commitDelay = 10

    func validate() throws {
        guard (0...100).contains(commitDelay) else { throw ValidationError("--commit-delay must be from 0 to 100.") }
    }

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let service = try await Programs.startService(setting)
        let load = Load(port: service.client.port, requests: world.logins())
        try await Database(url: setting.databaseURL).delayCommits(milliseconds: commitDelay)
        let target = Target(name: "service", process: service.process, load: load)
        try target.check(await load.closedLoop(connections: 16, seconds: 3))

        let calm = await load.closedLoop(connections: 64, seconds: 10)
        try target.check(calm)
        let peak = Double(calm.count) / calm.seconds
        let flood = await load.openLoop(
            rate: times * peak,
            connections: connections,
            seconds: seconds,
            cutOff: true
        )
        let recovery = await self.recovery(load, rate: peak / 2)

        let goodput = Double(flood.replies[200] ?? 0) / flood.seconds / peak
        let accepted = flood.percentile(99, of: 200)
        let (refused, slowlyRefused) = (flood.percentile(50, of: 503), flood.percentile(99, of: 503))
        Report().overload(
            flood,
            peak: peak,
            goodput: goodput,
            accepted: accepted,
            refused: (refused, slowlyRefused),
            recovery: recovery
        )
        noteMeasured(
            "F-40",
            """
            \(Int(flood.offered / peak)) times the capacity of \(Int(peak)) logins/s for \(Int(seconds)) s: \
            \(Int(goodput * 100)) % of it, p99 of accepted \(accepted.figure), p50 of refusals \(refused.figure); \
            as before \(recovery.map { $0.figure } ?? "not") after
            """
        )
        guard flood.offered >= times * peak / 2, goodput >= 0.8, accepted <= .seconds(5), refused <= .milliseconds(50),
            (recovery ?? .seconds(60)) <= .seconds(10), service.process.isRunning,
            Set(flood.replies.keys).isSubset(of: [200, 503])
        else { throw ExitCode.failure }
        _ = try await service.process.terminate()
    }

    /// Returns the time from the overload to the first second after which all logins succeed within a second each.
    private func recovery(_ load: Load, rate: Double) async -> Duration? {
        let end = ContinuousClock.now
        var normal: ContinuousClock.Instant?
        for _ in 0..<15 {
            let start = ContinuousClock.now
            let second = await load.openLoop(rate: rate, connections: 256, seconds: 1)
            let isNormal = Array(second.replies.keys) == [200] && second.latency.valueAtPercentile(99) < 1_000_000
            normal = isNormal ? normal ?? start : nil
        }
        return normal.map { $0 - end }
    }
}

extension Load.Outcome {
    /// The calls per second.
    var offered: Double { Double(count) / seconds }

    /// Returns the percentile of the time from sending to response, of the calls with a status.
    func percentile(_ percent: Double, of status: Int) -> Duration {
        .microseconds(service[status].map { Int64($0.valueAtPercentile(percent)) } ?? 0)
    }
}
