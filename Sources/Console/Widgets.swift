import FoundationEssentials
import HTTP
import Vocabulary

// Parts that pages share.

extension HTML {
    /// A moment in milliseconds since 1970, as people read it; a dash for none.
    static func moment(_ value: JSONValue?) -> HTML {
        guard let milliseconds = value?.integer, abs(milliseconds) < 253_402_300_800_000 else { return "–" }
        let text = Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format()
        return "<time datetime=\"\(text)\">\(String(text.dropLast(4)).replacing("T", with: " ")) UTC</time>"
    }

    /// A text with a button that copies it, where scripts run.
    ///
    /// - Parameters:
    ///   - text: What is copied.
    ///   - name: What it is called, for who does not see where the button stands.
    /// - Returns: Both.
    static func copied(_ text: String, _ name: String) -> HTML {
        "<code>\(text)</code>\(copyButton(name))"
    }

    /// A button that copies the text of the element in front of it.
    static func copyButton(_ name: String) -> HTML {
        "<button type=\"button\" class=\"copy\">Copy<span class=\"hidden\"> \(name)</span></button>"
    }

    /// The options of a select, of which one is chosen.
    static func options(_ options: [(value: String, title: String)], chosen: String) -> HTML {
        options.map { option -> HTML in
            "<option value=\"\(option.value)\"\(" selected", if: option.value == chosen)>\(option.title)</option>"
        }.joined()
    }

    /// A field for a file, where scripts run: its text goes into another field of the form.
    static func file(into name: String) -> HTML {
        """
        <p class="field scripted"><label for="file">File</label><input id="file" type="file" data-into="\(name)"></p>
        <p role="status" class="file-said"></p>
        """
    }

    /// A filter that is one of a list, or any; whatever is chosen is in the list.
    static func choice(
        _ name: String,
        _ label: String,
        _ options: [String],
        chosen: String,
        _ title: (String) -> String = { $0 }
    ) -> HTML {
        let all = chosen.isEmpty || options.contains(chosen) ? options : options + [chosen]
        return """
            <label for="\(name)">\(label)</label><select id="\(name)" name="\(name)"><option value="">any</option>\
            \(HTML.options(all.map { ($0, title($0)) }, chosen: chosen))</select>
            """
    }

    /// A value of JSON as it is written, for people.
    static func json(_ value: JSONValue) -> HTML { "\(value.indented(\.text))" }

    /// A value in a cell: texts as they are, nothing as a dash.
    static func value(_ value: JSONValue?) -> HTML {
        switch value {
        case nil, .null?: "–"
        case .string(let text)?: "<bdi>\(text)</bdi>"
        case .bool(let isTrue)?: isTrue ? "yes" : "no"
        case let value?: "<code>\(value.text)</code>"
        }
    }

    /// A table with a heading for each column; it scrolls by itself where the window is narrow.
    static func table(_ label: String, _ columns: [String], _ rows: [[HTML]], ifEmpty: HTML) -> HTML {
        guard !rows.isEmpty else { return "<p class=\"empty\">\(ifEmpty)</p>" }
        let head = columns.map { column -> HTML in "<th scope=\"col\">\(column)</th>" }
        let body = rows.map { row -> HTML in "<tr>\(row.map { "<td>\($0)</td>" as HTML })</tr>" }
        return """
            <div class="scroll" role="region" aria-label="\(label)" tabindex="0"><table><thead><tr>\(head)</tr></thead>\
            <tbody>\(body)</tbody></table></div>
            """
    }

    /// Names with their values.
    static func facts(_ facts: [(name: String, value: HTML)]) -> HTML {
        let items = facts.map { fact -> HTML in "<div><dt>\(fact.name)</dt><dd>\(fact.value)</dd></div>" }
        return "<dl class=\"facts\">\(items)</dl>"
    }

    /// What should be looked at, if there is anything.
    static func warnings(_ texts: [String]) -> HTML {
        guard !texts.isEmpty else { return "" }
        return "<div class=\"alert\"><ul>\(texts.map { "<li>\($0)</li>" as HTML })</ul></div>"
    }

    /// The way to the next part of a list, if there is one.
    static func next(_ cursor: String?, of path: String, _ query: [(name: String, value: String)] = []) -> HTML {
        guard let cursor else { return "" }
        return "<p><a class=\"button\" href=\"\(link(path, query + [("cursor", cursor)]))\">Next page</a></p>"
    }

    /// A path with a query, in which what is empty is left out.
    static func link(_ path: String, _ query: [(name: String, value: String)]) -> String {
        let pairs = query.filter { !$0.value.isEmpty }
            .map { "\($0.name)=\(PercentEncoding.encode($0.value))" }
        return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
    }

    /// A field of a form with its label.
    static func field(
        _ name: String,
        _ label: String,
        type: String = "text",
        value: String = "",
        hint: String? = nil,
        attributes: HTML = ""
    ) -> HTML {
        let described: HTML = hint == nil ? "" : " aria-describedby=\"\(name)-hint\""
        return """
            <p class="field"><label for="\(name)">\(label)</label><input id="\(name)" name="\(name)" type="\(type)" \
            value="\(value)"\(described) \(attributes)>\
            \(hint.map { "<small id=\"\(name)-hint\">\($0)</small>" } ?? "" as HTML)</p>
            """
    }
}

/// A number of seconds as people say it, such as `14 days`, or `1 hour 30 minutes`.
func durationText(_ seconds: Int64) -> String {
    let units: [(name: String, size: Int64)] = [("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)]
    var (left, parts) = (max(0, seconds), [String]())
    for unit in units where left >= unit.size {
        let count = left / unit.size
        parts.append("\(count) \(unit.name)\(count == 1 ? "" : "s")")
        left %= unit.size
    }
    return parts.isEmpty ? "0 seconds" : parts.joined(separator: " ")
}

/// A moment in milliseconds since 1970 as the administration takes it back, to the millisecond; nil outside the years
/// that can be written.
func momentText(_ milliseconds: Int64) -> String? {
    guard abs(milliseconds) < 253_402_300_800_000 else { return nil }
    let part = (milliseconds % 1000 + 1000) % 1000
    let text = Date(timeIntervalSince1970: Double((milliseconds - part) / 1000)).ISO8601Format()
    guard part > 0 else { return text }
    return "\(text.dropLast()).\(String(part + 1000).dropFirst())Z"
}

/// A path below `/console`, its segments encoded.
func consolePath(_ segments: String...) -> String {
    "/console/" + segments.map(PercentEncoding.encode).joined(separator: "/")
}
