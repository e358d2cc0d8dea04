import AdministrationAPI
import Description
import Domain
import Encodings
import FoundationEssentials
import Pages

/// The numbers of logins in a period, from `GET logins/counts`.
struct LoginCounts {
    /// The numbers of logins that created a user, that updated a user, and that were refused.
    struct Tally {
        var created: Int64 = 0
        var updated: Int64 = 0
        var refused: Int64 = 0

        var all: Int64 { created + updated + refused }

        /// The percentage of logins that were refused.
        var refusedShare: String {
            guard all > 0, refused > 0 else { return "0 %" }
            let share = refused * 100 / all
            return share == 0 ? "< 1 %" : "\(share) %"
        }

        fileprivate mutating func add(_ logins: Int64, _ outcome: String?) {
            switch outcome {
            case "created": created += logins
            case "updated": updated += logins
            default: refused += logins
            }
        }
    }

    /// The number of logins that were refused for one reason, by one provider or by another login method.
    struct Refusals {
        let reason: String
        let provider: String?
        let method: String
        let logins: Int64
    }

    private let since: JSONValue
    /// The time at which the first bar of the chart begins, and the time that each bar covers, both in milliseconds.
    private let (start, width): (Int64, Int64)
    private var bars: [Int64: Tally] = [:]
    /// The numbers of logins by provider, or by login method for logins without a provider.
    private var kinds: [String: Tally] = [:]
    /// The providers by which users logged in during the period.
    private(set) var providers: Set<String> = []
    private(set) var total = Tally()
    /// The number of logins that were counted but have no row in the log of logins.
    private var unlisted: Int64 = 0
    /// How many logins were refused for each reason, the most frequent first.
    let refusals: [Refusals]

    init(_ counts: JSONObject) {
        since = counts["since"] ?? .null
        (start, width) = (since.integer ?? 0, max(1, (counts.integer("seconds")) * 1000))
        refusals = counts.objects("reasons").map { refused in
            Refusals(
                reason: refused.string("reason"),
                provider: refused["provider"]?.string,
                method: refused.string("method"),
                logins: refused.integer("logins")
            )
        }
        for bucket in counts.objects("buckets") {
            let (logins, outcome) = (bucket.integer("logins"), bucket["outcome"]?.string)
            bars[bucket.integer("starts"), default: Tally()].add(logins, outcome)
            if let provider = bucket["provider"]?.string { providers.insert(provider) }
            let kind = bucket["provider"]?.string ?? bucket.string("method")
            kinds[kind, default: Tally()].add(logins, outcome)
            total.add(logins, outcome)
            unlisted += bucket.integer("unlisted")
        }
    }

    /// The periods among which an operator can choose, in hours.
    static let spans: [(label: String, title: String, hours: String)] = [
        (label: "Hour", title: "of the last hour", hours: "1"), ("Day", "of the last day", "24"),
        ("Week", "of the last week", "168"),
    ]

    /// Returns the period that the query of the page's URL names; by default, a day.
    static func span(_ visit: Visit) -> (label: String, title: String, hours: String) {
        spans.first { $0.hours == visit.query["hours"] } ?? spans[1]
    }

    /// Returns links to the same page for the other periods.
    static func links(to path: String, _ query: [(name: String, value: String)], shown hours: String) -> HTML {
        .views("Times", spans.map { ($0.label, HTML.link(path, query + [("hours", $0.hours)]), $0.hours == hours) })
    }

    /// A bar chart of the numbers of logins over time.
    ///
    /// The tables of `byProvider` and `failures` show the same numbers.
    private var chart: HTML {
        guard total.all > 0 else { return "<p class=\"empty\">No logins in this time.</p>" }
        let highest = max(1, bars.values.map(\.all).max() ?? 1)
        // The chart ends at the present time, even if the last login was long ago.
        let now = max(bars.keys.max() ?? start, Int64(Date().timeIntervalSince1970 * 1000))
        let places = max(1, (now - start) / width + 1)
        // One path for each outcome. An element for each bar would make the page almost twice as large.
        var paths = (ok: "", new: "", no: "")
        for (starts, bar) in bars.sorted(by: { $0.key < $1.key }) {
            let x = (starts - start) / width * 10
            var y: Int64 = 100
            func draw(_ logins: Int64, _ path: inout String) {
                guard logins > 0 else { return }
                // A nonzero number has a visible height, even if the largest number is much larger.
                let height = max(1, logins * 100 / highest)
                y -= height
                path += "M\(x) \(y)h8v\(height)h-8z"
            }
            draw(bar.updated, &paths.ok)
            draw(bar.created, &paths.new)
            draw(bar.refused, &paths.no)
        }
        let drawn: HTML = """
            <path class="ok" d="\(paths.ok)"/><path class="new" d="\(paths.new)"/><path class="no" d="\(paths.no)"/>
            """
        return """
            <figure class="chart"><div class="plot"><span class="most">\(highest)</span><span class="none">0</span><svg \
            viewBox="0 0 \(places * 10) 100" preserveAspectRatio="none" role="img" aria-label="\(total.updated) logins \
            of existing users, \(total.created) of new users, \(total.refused) refused; at most \(highest) per \
            bar">\(drawn)</svg><div class="times">\(times(until: start + places * width))</div></div>
            <figcaption>Since \(HTML.moment(since)), \(DurationText.text(of: width / 1000)) per bar. <span class="key \
            ok"></span> Existing users: \(total.updated) <span class="key new"></span> New users: \(total.created) \
            <span class="key no"></span> Refused: \(total.refused) (\(total.refusedShare))</figcaption></figure>
            """
    }

    /// Returns the labels of the time axis, from the first to the last.
    private func times(until end: Int64) -> [HTML] {
        (0...Int64(4)).map { part -> HTML in
            let milliseconds = start + (end - start) * part / 4
            let text = Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format()
            // The day if a bar is an hour or longer; otherwise the time of day.
            let shown = width >= 3_600_000 ? text.dropFirst(5).prefix(5) : text.dropFirst(11).prefix(5)
            return "<time datetime=\"\(text)\">\(String(shown))</time>"
        }
    }

    /// A note on how many of the counted logins have no row in the log; empty if all have one.
    var unlistedNote: HTML {
        guard unlisted > 0 else { return "" }
        return """
            <p class="fine">\(unlisted) logins of the chart are not listed, because too many were refused at once. All \
            successful logins are listed.</p>
            """
    }

    /// Returns the chart and the tables of the numbers of logins.
    ///
    /// If `filters` has an application, the links to the log lead to the logins of this application.
    func html(_ console: Console, _ filters: [(name: String, value: String)] = []) -> HTML {
        """
        \(chart)<div class="pair"><div><h3>Logins by method</h3>\(byProvider(console))</div>
        <div><h3>Most frequent errors</h3>\(failures(console, filters))</div></div>
        """
    }

    private func byProvider(_ console: Console) -> HTML {
        .table("Logins by method", of: kinds.sorted { $0.key < $1.key }, ifEmpty: "Nobody.") { kind, count in
            [
                ("Method", "\(console.methodTitle(kind))"), ("New users", "\(count.created)"),
                ("Existing users", "\(count.updated)"), ("Refused", "\(count.refused)"),
                ("Share of refused", "\(count.refusedShare)"),
            ]
        }
    }

    /// The reasons for which logins were refused through a provider's fault, each once.
    var ofProviders: [String] {
        let troubles: [Failure.Reason] = [
            .providerUnavailable, .providerTimeout, .providerRateLimited, .providerBadReply, .providerMisconfigured,
        ]
        return troubles.map(\.rawValue).filter { reason in refusals.contains { $0.reason == reason } }
    }

    /// Returns a table of the most frequent reasons for which logins were refused.
    ///
    /// Each row has a remedy, and a link to the logins that were refused for this reason.
    private func failures(_ console: Console, _ filters: [(name: String, value: String)]) -> HTML {
        let application = filters.first { $0.name == "application" }?.value
        let table = "Most frequent errors"
        return .table(table, of: Array(refusals.prefix(10)), ifEmpty: "No failed logins.") { refused in
            let query = [
                (name: "application", value: application ?? ""), ("provider", refused.provider ?? ""),
                ("outcome", "refused"), ("reason", refused.reason),
            ]
            let reason: HTML = """
                <a href="\(HTML.link("/console/logins", query))"><code>\(refused.reason)</code></a>
                """
            let remedy = LoginRemedy(refused.reason, application: application, provider: refused.provider)
            return [
                ("Reason", "\(reason)\(remedy.html)"),
                ("Method", "\(console.methodTitle(refused.provider ?? refused.method))"),
                ("Logins", "\(refused.logins)"),
            ]
        }
    }
}
