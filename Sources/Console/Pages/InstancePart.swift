import AdministrationAPI
import Domain
import Encodings
import Pages

/// The part of a page that shows an instance's report (`GET instance`), and the providers' failures in the log of
/// logins.
enum InstancePart {
    static func html(_ instance: JSONObject) -> HTML {
        """
        <p class="fine">Figures of this instance, version \(instance.string("version")), since \
        \(HTML.moment(instance["since"])). For other instances, read their <code>/metrics</code>.</p>
        \(latency(instance))\(providers(instance))
        """
    }

    /// Returns a table that shows how long the stages of logins took.
    private static func latency(_ instance: JSONObject) -> HTML {
        let stages = instance.objects("stages")
        let longest = stages.compactMap { $0["milliseconds"]?.object?["p95"]?.double }.max() ?? 0
        let none: HTML = "No logins with a provider on this instance yet."
        let table = HTML.table("Latency by stage", of: stages, ifEmpty: none) { stage in
            let times = stage["milliseconds"]?.object
            return [
                ("Stage", "\(titles[stage.string("stage")] ?? stage.string("stage"))"),
                ("Count", "\(stage.integer("count"))"), ("Median", time(times?["p50"])),
                ("95th percentile", time(times?["p95"])), ("99th percentile", time(times?["p99"])),
                ("Median and 95th percentile", bar(times, longest)),
            ]
        }
        return "<h3>Latency by stage</h3>\(table)"
    }

    private static let titles = [
        "provider": "Provider, in total", "verification": "Checking the response", "mapping": "Mapping",
        "write": "Database write",
    ]

    /// Returns a bar that shows the 50th and the 95th percentile of a duration.
    private static func bar(_ times: JSONObject?, _ longest: Double) -> HTML {
        func width(_ name: String) -> Int {
            guard longest > 0, let value = times?[name]?.double else { return 0 }
            return max(1, Int(value / longest * 100))
        }
        return """
            <svg class="bar-of" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="most" width="\(width("p95"))" height="8"/><rect class="half" width="\(width("p50"))" height="8"/></svg>
            """
    }

    /// Returns two tables: the requests to providers, and the apps to which the service sends no requests at present,
    /// or that have used much of their rate limit.
    private static func providers(_ instance: JSONObject) -> HTML {
        let unasked: HTML = "No requests to providers from this instance yet."
        let calls = HTML.table("Requests to providers", of: instance.objects("calls"), ifEmpty: unasked) { call in
            let unanswered = call.object("unanswered").members.map { member in
                "\(member.key.replacing("_", with: " ")) \(member.value.integer ?? 0)"
            }
            let times = call["milliseconds"]?.object
            let trouble: HTML = "<span class=\"bad\">\(unanswered.joined(separator: ", "))</span>"
            return [
                ("Provider", "\(call.string("provider"))"), ("Call", "<code>\(call.string("call"))</code>"),
                ("Answered", "\(call.integer("answered"))"), ("Without a response", unanswered.isEmpty ? "–" : trouble),
                ("Median", time(times?["p50"])), ("95th percentile", time(times?["p95"])),
            ]
        }
        let well: HTML = "No app is paused, and no provider has reported its rate limit."
        let apps = HTML.table("Provider apps", of: instance.objects("apps"), ifEmpty: well) { app in
            let id = app.string("application")
            let used = app.object("allowances").members.map { "\($0.key) \($0.value.integer ?? 0) %" }
            return [
                ("Application", "<a href=\"\(consolePath("applications", id))\">\(id)</a>"),
                ("Provider", "\(app.string("provider"))"), ("App", "<code>\(app.string("app"))</code>"),
                ("State", app.bool("shutOut") ? .tag("paused", "refused") : .tag("active", "ENABLED")),
                ("Rate limit used", used.isEmpty ? "–" : "\(used.joined(separator: ", "))"),
            ]
        }
        return "<h3>Requests to providers</h3>\(calls)<h3>Provider apps</h3>\(apps)"
    }

    /// Returns a table that shows, for each reason that is a provider's fault, the latest login that was refused for
    /// it.
    ///
    /// The logins are those of all instances.
    static func failures(_ reasons: [String], _ parts: [Part]) -> HTML {
        let missing = parts.map { part -> HTML in part.html { _ in "" } }
        let last = zip(reasons, parts).compactMap { reason, part in
            part.object?.objects("items").first.map { (reason: reason, login: $0) }
        }
        let none: HTML = "No failed logins because of a provider."
        let table = HTML.table("Latest provider failures", of: last, ifEmpty: none) { reason, login in
            let link = HTML.link("/console/logins", [("outcome", "refused"), ("reason", reason)])
            return [
                ("Last", .moment(login["happened"])), ("Provider", "\(login.string("provider"))"),
                ("Application", "\(login.string("application"))"),
                ("Why", "<a href=\"\(link)\"><code>\(reason)</code></a>"),
                ("Cause", .value(login["cause"])),
            ]
        }
        return "<h3>Latest provider failures</h3>\(missing)\(table)"
    }

    /// Returns a duration as text: below 10 ms unchanged, otherwise rounded to whole milliseconds.
    private static func time(_ value: JSONValue?) -> HTML {
        guard let milliseconds = value?.double else { return "–" }
        return milliseconds < 10 ? "\(String(milliseconds)) ms" : "\(Int(milliseconds.rounded())) ms"
    }
}

extension JSONValue {
    fileprivate var double: Double? {
        guard case .number(let number) = self else { return nil }
        return number.double
    }
}
