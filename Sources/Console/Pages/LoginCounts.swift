import API
import FoundationEssentials
import HTTP
import Vocabulary

/// How many logins there were in a time, as `GET logins/counts` answers.
struct LoginCounts {
    /// Logins by how they ended.
    struct Tally {
        var created: Int64 = 0
        var updated: Int64 = 0
        var refused: Int64 = 0

        var all: Int64 { created + updated + refused }

        /// Of a hundred how many were refused.
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

    /// How often logins by a provider, or by another method, were refused for a reason.
    struct Refusals {
        let reason: String
        let provider: String?
        let method: String
        let logins: Int64
    }

    private let since: JSONValue
    /// The first moment and the width of a bar, in milliseconds; none of an answer that is none.
    private let (start, width): (Int64, Int64)
    private var bars: [Int64: Tally] = [:]
    /// By provider, or by method where there is none.
    private var kinds: [String: Tally] = [:]
    /// The providers among them.
    private(set) var providers: Set<String> = []
    private(set) var total = Tally()
    /// Those of which the log has no row.
    private var unlisted: Int64 = 0
    /// The most frequent first.
    let refusals: [Refusals]

    init(_ counts: JSONObject) {
        since = counts["since"] ?? .null
        (start, width) = (since.integer ?? 0, max(1, (counts["seconds"]?.integer ?? 0) * 1000))
        refusals = (counts["reasons"]?.array ?? []).compactMap(\.object).map { refused in
            Refusals(
                reason: refused["reason"]?.string ?? "",
                provider: refused["provider"]?.string,
                method: refused["method"]?.string ?? "",
                logins: refused["logins"]?.integer ?? 0
            )
        }
        for bucket in (counts["buckets"]?.array ?? []).compactMap(\.object) {
            let (logins, outcome) = (bucket["logins"]?.integer ?? 0, bucket["outcome"]?.string)
            bars[bucket["starts"]?.integer ?? 0, default: Tally()].add(logins, outcome)
            if let provider = bucket["provider"]?.string { providers.insert(provider) }
            let kind = bucket["provider"]?.string ?? bucket["method"]?.string ?? ""
            kinds[kind, default: Tally()].add(logins, outcome)
            total.add(logins, outcome)
            unlisted += bucket["unlisted"]?.integer ?? 0
        }
    }

    /// The times that a page offers, by hours.
    static let spans: [(label: String, title: String, hours: String)] = [
        (label: "Hour", title: "of an hour", hours: "1"), ("Day", "of a day", "24"), ("Week", "of a week", "168"),
    ]

    /// The span that a page is asked for; a day unless it is one of the others.
    static func span(_ visit: Visit) -> (label: String, title: String, hours: String) {
        spans.first { $0.hours == visit.query["hours"] } ?? spans[1]
    }

    /// Ways to the other spans of a page.
    static func links(to path: String, _ query: [(name: String, value: String)], shown hours: String) -> HTML {
        let links = spans.map { span -> HTML in
            let link = HTML.link(path, query + [("hours", span.hours)])
            return "<a href=\"\(link)\"\(" aria-current=\"true\"", if: span.hours == hours)>\(span.label)</a> "
        }
        return "<p class=\"spans\">\(links)</p>"
    }

    /// Bars over time; what they show is in `byProvider` and `failures`, too.
    var chart: HTML {
        guard total.all > 0 else { return "<p class=\"empty\">Nobody has logged in in this time.</p>" }
        let most = max(1, bars.values.map(\.all).max() ?? 1)
        // Up to now, however long ago the last of them was.
        let now = max(bars.keys.max() ?? start, Int64(Date().timeIntervalSince1970 * 1000))
        let places = max(1, (now - start) / width + 1)
        // A path for each outcome: an element for each bar would be half of the page.
        var paths = (ok: "", new: "", no: "")
        for (starts, bar) in bars.sorted(by: { $0.key < $1.key }) {
            let x = (starts - start) / width * 10
            var y: Int64 = 100
            func draw(_ logins: Int64, _ path: inout String) {
                guard logins > 0 else { return }
                // What there is can be seen, however little it is beside the most.
                let height = max(1, logins * 100 / most)
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
            <figure class="chart"><div class="plot"><span class="most">\(most)</span><span class="none">0</span>\
            <svg viewBox="0 0 \(places * 10) 100" preserveAspectRatio="none" role="img" aria-label="\(total.updated) logins of people who were known, \(total.created) of new ones, \(total.refused) \
            refused; at most \(most) in a bar">\(drawn)</svg><div class="times">\(times(until: start + places * width))</div></div>
            <figcaption>Since \(HTML.moment(since)), \(durationText(width / 1000)) a bar: <span class="key ok"></span> \(total.updated) again \
            <span class="key new"></span> \(total.created) new people <span class="key no"></span> \(total.refused) refused \
            (\(total.refusedShare))</figcaption></figure>
            """
    }

    /// The times below the bars, from the first to the last.
    private func times(until end: Int64) -> [HTML] {
        (0...Int64(4)).map { part -> HTML in
            let milliseconds = start + (end - start) * part / 4
            let text = Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format()
            // A day where a bar is an hour, the time of the day where it is less.
            let shown = width >= 3_600_000 ? text.dropFirst(5).prefix(5) : text.dropFirst(11).prefix(5)
            return "<time datetime=\"\(text)\">\(String(shown))</time>"
        }
    }

    /// How many of them are not among those that are shown one by one; nothing where all are.
    var unlistedNote: HTML {
        guard unlisted > 0 else { return "" }
        return """
            <p class="fine">\(unlisted) of the logins in the chart are not listed here: too many were refused at once. All that \
            went well are.</p>
            """
    }

    func byProvider(_ console: Console) -> HTML {
        let rows = kinds.sorted { $0.key < $1.key }.map { kind, count -> [HTML] in
            [
                "\(console.methodTitle(kind))", "\(count.created)", "\(count.updated)", "\(count.refused)",
                "\(count.refusedShare)",
            ]
        }
        return .table(
            "Logins by provider",
            ["By", "New people", "Again", "Refused", "Share"],
            rows,
            ifEmpty: "Nobody."
        )
    }

    /// Reasons of theirs that are a provider's, each once.
    var ofProviders: [String] {
        let troubles: [Failure.Reason] = [
            .providerUnavailable, .providerTimeout, .providerRateLimited, .providerBadReply, .providerMisconfigured,
        ]
        return troubles.map(\.rawValue).filter { reason in refusals.contains { $0.reason == reason } }
    }

    /// What fails most, where that is mended, and the way to each of them, in the application that the filters of the
    /// log name.
    func failures(_ console: Console, _ filters: [(name: String, value: String)] = []) -> HTML {
        let application = filters.first { $0.name == "application" }?.value
        let rows = refusals.prefix(10).map { refused -> [HTML] in
            let link = HTML.link(
                "/console/logins",
                [
                    ("application", application ?? ""), ("provider", refused.provider ?? ""), ("outcome", "refused"),
                    ("reason", refused.reason),
                ]
            )
            let remedy = LoginRemedy(refused.reason, application: application, provider: refused.provider)
            return [
                "<a href=\"\(link)\"><code>\(refused.reason)</code></a>\(remedy.html)",
                "\(console.methodTitle(refused.provider ?? refused.method))", "\(refused.logins)",
            ]
        }
        return .table("What fails most", ["Why", "By", "Logins"], Array(rows), ifEmpty: "Nothing has failed.")
    }
}
