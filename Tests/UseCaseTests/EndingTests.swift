@testable import Accounts
@testable import Applications
import Domain
import Facebook
import FoundationEssentials
import Providers
import Testing
import TestSupport

@Suite("What ends in the settings of applications")
struct EndingTests {
    private func endings(_ samples: [(id: String, version: String, enabled: Bool)], on day: CalendarDate?) throws
        -> [String]
    {
        let loaded = try samples.map { sample in
            let stored = Sample(
                id: sample.id,
                apps: ["1"],
                enabled: sample.enabled,
                options: #"{"graphVersion": "\#(sample.version)"}"#
            )
            return LoadedApplication(try stored.stored(), masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
        }
        return Ending.all(in: loaded, on: day).map { ending in
            let ids = ending.applications.map(\.text).sorted().joined(separator: ",")
            return "\(ids): \(ending.text.split(separator: ".").prefix(2).joined(separator: "."))"
        }
    }

    @Test("each thing is said once, with the applications that it is about; a provider that is off says nothing")
    func grouped() throws {
        let samples = [
            ("a", "v20.0", true), ("b", "v21.0", true), ("c", "v20.0", true), ("d", "v26.0", true),
            ("e", "v99.0", true),
            ("f", "v20.0", false),
        ]
        #expect(
            try endings(samples, on: CalendarDate(year: 2026, month: 11, day: 22)) == [
                "a,c: Graph v20.0 ended on 2026-09-24", "b: Graph v21.0 ends on 2027-01-21, in 60 days",
                "e: Graph v99.0 is not a known version; the newest known one is v26",
            ]
        )
        #expect(
            try endings(samples, on: CalendarDate(year: 2026, month: 9, day: 1)) == [
                "a,c: Graph v20.0 ends on 2026-09-24, in 23 days",
                "e: Graph v99.0 is not a known version; the newest known one is v26",
            ]
        )
        #expect(try endings(samples, on: nil) == [], "a clock beyond the calendar")
    }

    @Test("docs/operations/upgrade.md has the versions of Graph with their ends, all of them and no others")
    func documented() throws {
        let page = try String(contentsOfFile: PackageLayout.path("docs/operations/upgrade.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `v") }.map(String.init)
        let calendar = GraphVersions.calendar.map { "| `\($0.version)` | \($0.end?.description ?? "not said yet") |" }
        #expect(rows == calendar)
    }
}
