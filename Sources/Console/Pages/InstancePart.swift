import API
import HTTP
import Vocabulary

/// What an instance tells of itself, `GET instance`, and what the log says of providers beside it.
enum InstancePart {
    static func html(_ instance: JSONObject) -> HTML {
        """
        <p class="fine">Counted by the instance that answers here, version \(instance["version"]?.string ?? ""), since \
        \(HTML.moment(instance["since"])). Each counts for itself; <code>/metrics</code> has it for all of them.</p>
        \(latency(instance))\(providers(instance))
        """
    }

    /// How long the parts of a login took.
    private static func latency(_ instance: JSONObject) -> HTML {
        let stages = (instance["stages"]?.array ?? []).compactMap(\.object)
        let longest = stages.compactMap { $0["milliseconds"]?.object?["p95"]?.double }.max() ?? 0
        let rows = stages.map { stage -> [HTML] in
            let times = stage["milliseconds"]?.object
            return [
                "\(titles[stage["stage"]?.string ?? ""] ?? stage["stage"]?.string ?? "")",
                "\(stage["count"]?.integer ?? 0)", time(times?["p50"]), time(times?["p95"]), time(times?["p99"]),
                bar(times, longest),
            ]
        }
        return .table(
            "Latency by stage",
            ["Part of a login", "How often", "Half within", "95 % within", "99 % within", "Half, and 95 %"],
            rows,
            ifEmpty: "Nobody has logged in by a provider here in this time."
        )
    }

    private static let titles = [
        "provider": "All of the provider", "verification": "Judging what it said", "mapping": "Mapping",
        "write": "Writing to the database",
    ]

    /// The same as a picture: up to where a half and 95 % of them were done.
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

    /// Whether providers answer, and which apps are not asked or have used much of what they may.
    private static func providers(_ instance: JSONObject) -> HTML {
        let calls = (instance["calls"]?.array ?? []).compactMap(\.object).map { call -> [HTML] in
            let unanswered = (call["unanswered"]?.object?.members ?? []).map { member in
                "\(member.key.replacing("_", with: " ")) \(member.value.integer ?? 0)"
            }
            let times = call["milliseconds"]?.object
            return [
                "\(call["provider"]?.string ?? "")", "<code>\(call["call"]?.string ?? "")</code>",
                "\(call["answered"]?.integer ?? 0)",
                unanswered.isEmpty ? "–" : "<span class=\"bad\">\(unanswered.joined(separator: ", "))</span>",
                time(times?["p50"]), time(times?["p95"]),
            ]
        }
        let apps = (instance["apps"]?.array ?? []).compactMap(\.object).map { app -> [HTML] in
            let id = app["application"]?.string ?? ""
            let used = (app["allowances"]?.object?.members ?? []).map { "\($0.key) \($0.value.integer ?? 0) %" }
            let isShutOut = app["shutOut"]?.bool == true
            return [
                "<a href=\"\(consolePath("applications", id))\">\(id)</a>", "\(app["provider"]?.string ?? "")",
                "<code>\(app["app"]?.string ?? "")</code>",
                isShutOut ? "<span class=\"tag refused\">shut out</span>" : "<span class=\"tag ENABLED\">asked</span>",
                used.isEmpty ? "–" : "\(used.joined(separator: ", "))",
            ]
        }
        return """
            \(HTML.table("Calls of providers", [
                "Provider", "Call", "Answered", "Not answered", "Half within", "95 % within",
            ], calls, ifEmpty: "This instance has asked no provider in this time."))
            \(HTML.table("Apps at providers", ["Application", "Provider", "App", "State", "Used of an hour's allowance"],
                apps, ifEmpty: "No app is shut out here, and no provider has said how much of its allowance is used."))
            """
    }

    /// The last logins, of all instances, that were refused for the provider.
    static func failures(_ reasons: [String], _ parts: [Part]) -> HTML {
        let missing = parts.map { part -> HTML in part.html { _ in "" } }
        let rows = zip(reasons, parts).compactMap { reason, part -> [HTML]? in
            guard let login = part.object?["items"]?.array?.first?.object else { return nil }
            let link = HTML.link("/console/logins", [("outcome", "refused"), ("reason", reason)])
            return [
                .moment(login["happened"]), "\(login["provider"]?.string ?? "")",
                "\(login["application"]?.string ?? "")",
                "<a href=\"\(link)\"><code>\(reason)</code></a>", .value(login["cause"]),
            ]
        }
        return """
            \(missing)\(HTML.table("Last failures of providers", [
                "Last", "Provider", "Application", "Why", "What was behind it",
            ], rows, ifEmpty: "No login of this time has failed for a provider."))
            """
    }

    /// Milliseconds, with as many digits as tell something.
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
