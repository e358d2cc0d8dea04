import AdministrationAPI
import Domain
import Encodings
import Pages

/// The report of an instance, `GET instance`, and the providers' failures from the log.
enum InstancePart {
    static func html(_ instance: JSONObject) -> HTML {
        """
        <p class="fine">Counted by the instance that answers here, version \(instance.string("version")), since \
        \(HTML.moment(instance["since"])). Each counts for itself; <code>/metrics</code> has it for all of them.</p>
        \(latency(instance))\(providers(instance))
        """
    }

    /// Returns a table of the times of login stages.
    private static func latency(_ instance: JSONObject) -> HTML {
        let stages = instance.objects("stages")
        let longest = stages.compactMap { $0["milliseconds"]?.object?["p95"]?.double }.max() ?? 0
        let none: HTML = "Nobody has logged in by a provider here in this time."
        return .table("Latency by stage", of: stages, ifEmpty: none) { stage in
            let times = stage["milliseconds"]?.object
            return [
                ("Part of a login", "\(titles[stage.string("stage")] ?? stage.string("stage"))"),
                ("How often", "\(stage.integer("count"))"), ("Half within", time(times?["p50"])),
                ("95 % within", time(times?["p95"])), ("99 % within", time(times?["p99"])),
                ("Half, and 95 %", bar(times, longest)),
            ]
        }
    }

    private static let titles = [
        "provider": "All of the provider", "verification": "Judging what it said", "mapping": "Mapping",
        "write": "Writing to the database",
    ]

    /// Returns a bar of the 50th and 95th percentile.
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

    /// Returns tables of provider calls, and of apps that are not called or have used much of their rate limit.
    private static func providers(_ instance: JSONObject) -> HTML {
        let unasked: HTML = "This instance has asked no provider in this time."
        let calls = HTML.table("Calls of providers", of: instance.objects("calls"), ifEmpty: unasked) { call in
            let unanswered = call.object("unanswered").members.map { member in
                "\(member.key.replacing("_", with: " ")) \(member.value.integer ?? 0)"
            }
            let times = call["milliseconds"]?.object
            let trouble: HTML = "<span class=\"bad\">\(unanswered.joined(separator: ", "))</span>"
            return [
                ("Provider", "\(call.string("provider"))"), ("Call", "<code>\(call.string("call"))</code>"),
                ("Answered", "\(call.integer("answered"))"), ("Not answered", unanswered.isEmpty ? "–" : trouble),
                ("Half within", time(times?["p50"])), ("95 % within", time(times?["p95"])),
            ]
        }
        let well: HTML = "No app is shut out here, and no provider has said how much of its allowance is used."
        let apps = HTML.table("Apps at providers", of: instance.objects("apps"), ifEmpty: well) { app in
            let id = app.string("application")
            let used = app.object("allowances").members.map { "\($0.key) \($0.value.integer ?? 0) %" }
            return [
                ("Application", "<a href=\"\(consolePath("applications", id))\">\(id)</a>"),
                ("Provider", "\(app.string("provider"))"), ("App", "<code>\(app.string("app"))</code>"),
                ("State", app.bool("shutOut") ? .tag("shut out", "refused") : .tag("asked", "ENABLED")),
                ("Used of an hour's allowance", used.isEmpty ? "–" : "\(used.joined(separator: ", "))"),
            ]
        }
        return "\(calls)\(apps)"
    }

    /// Returns a table of the last logins, of all instances, that a provider's failure refused.
    static func failures(_ reasons: [String], _ parts: [Part]) -> HTML {
        let missing = parts.map { part -> HTML in part.html { _ in "" } }
        let last = zip(reasons, parts).compactMap { reason, part in
            part.object?.objects("items").first.map { (reason: reason, login: $0) }
        }
        let none: HTML = "No login of this time has failed for a provider."
        let table = HTML.table("Last failures of providers", of: last, ifEmpty: none) { reason, login in
            let link = HTML.link("/console/logins", [("outcome", "refused"), ("reason", reason)])
            return [
                ("Last", .moment(login["happened"])), ("Provider", "\(login.string("provider"))"),
                ("Application", "\(login.string("application"))"),
                ("Why", "<a href=\"\(link)\"><code>\(reason)</code></a>"),
                ("What was behind it", .value(login["cause"])),
            ]
        }
        return "\(missing)\(table)"
    }

    /// Returns milliseconds with significant digits.
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
