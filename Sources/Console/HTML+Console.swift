import Encodings
import FoundationEssentials
import Pages

// Parts of pages.

extension HTML {
    /// A time in milliseconds since 1970 as readable text; a dash for none.
    static func moment(_ value: JSONValue?) -> HTML {
        guard let milliseconds = value?.integer, abs(milliseconds) < 253_402_300_800_000 else { return "–" }
        let text = Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format()
        return "<time datetime=\"\(text)\">\(String(text.dropLast(4)).replacing("T", with: " ")) UTC</time>"
    }

    /// The given text, and a button that copies it to the clipboard.
    ///
    /// The button is visible only if scripts run.
    ///
    /// - Parameters:
    ///   - text: The text to copy.
    ///   - name: The name of the text, for screen readers.
    /// - Returns: The text and the button.
    static func copied(_ text: String, _ name: String) -> HTML {
        "<code>\(text)</code>\(copyButton(name))"
    }

    /// A button that copies the text of the preceding HTML element to the clipboard.
    static func copyButton(_ name: String) -> HTML {
        "<button type=\"button\" class=\"copy\">Copy<span class=\"hidden\"> \(name)</span></button>"
    }

    /// An input for a file, visible only if scripts run.
    ///
    /// A script puts the file's text into another field of the form.
    static func file(into name: String) -> HTML {
        """
        <p class="field scripted"><label for="file">File</label><input id="file" type="file" data-into="\(name)"></p>
        <p role="status" class="file-said"></p>
        """
    }

    /// A select element that filters a list by one value, or by none.
    ///
    /// Its options include the current value even if it is not among the given ones.
    static func choice(
        _ name: String,
        _ label: String,
        _ options: [String],
        chosen: String,
        _ title: (String) -> String = { $0 }
    ) -> HTML {
        let all = chosen.isEmpty || options.contains(chosen) ? options : options + [chosen]
        return """
            <label>\(label) <select id="\(name)" name="\(name)"><option value="">any</option>\
            \(HTML.options(all.map { ($0, title($0)) }, chosen: chosen))</select></label>
            """
    }

    /// A JSON value as indented text.
    static func json(_ value: JSONValue) -> HTML { "\(value.indented(\.text))" }

    /// A JSON value in a table cell: a text without quotes, and a dash for no value.
    static func value(_ value: JSONValue?) -> HTML {
        switch value {
        case nil, .null?: "–"
        case .string(let text)?: "<bdi>\(text)</bdi>"
        case .bool(let isTrue)?: isTrue ? "yes" : "no"
        case let value?: "<code>\(value.text)</code>"
        }
    }

    /// A list of warnings, if there are any.
    static func warnings(_ texts: [String]) -> HTML {
        guard !texts.isEmpty else { return "" }
        return "<div class=\"alert warn\"><ul>\(texts.map { "<li>\($0)</li>" as HTML })</ul></div>"
    }

    /// A message that shows a new secret, which the console shows only once.
    static func made(_ text: HTML, _ secret: String, _ name: String, _ advice: HTML = "") -> HTML {
        """
        <div class="made" role="status"><p>\(text)</p><p>\(copied(secret, name))</p>\
        \("<p>\(advice)</p>", if: !advice.text.isEmpty)</div>
        """
    }

    /// A collapsed form for an irreversible action, with a field in which the operator types a name to confirm.
    static func grave(
        _ summary: HTML,
        _ label: HTML,
        type name: String,
        attributes: HTML = "",
        _ button: HTML
    ) -> HTML {
        """
        <details class="erase"><summary>\(summary)</summary>
        \(HTML.field("confirm", label, hint: "\(name)", attributes: """
        \(attributes) autocomplete="off" spellcheck="false"
        """))
        \(button)</details>
        """
    }

    /// A short label that names a state, such as a user's status.
    static func tag(_ text: String, _ kind: String = "") -> HTML {
        "<span class=\"tag\(" \(kind)", if: !kind.isEmpty)\">\(text)</span>"
    }

    /// Links to the views that a page can show, with the current view marked.
    static func views(_ label: String, _ views: [(title: String, path: String, isShown: Bool)]) -> HTML {
        let links = views.map { view -> HTML in
            "<a href=\"\(view.path)\"\(" aria-current=\"true\"", if: view.isShown)>\(view.title)</a> "
        }
        return "<nav class=\"spans\" aria-label=\"\(label)\">\(links)</nav>"
    }
}

/// Returns a time as the administration API writes it, to the millisecond; the parameter counts milliseconds since
/// 1970.
///
/// Nil for a year that the notation cannot express.
func momentText(_ milliseconds: Int64) -> String? {
    guard abs(milliseconds) < 253_402_300_800_000 else { return nil }
    let part = (milliseconds % 1000 + 1000) % 1000
    let text = Date(timeIntervalSince1970: Double((milliseconds - part) / 1000)).ISO8601Format()
    guard part > 0 else { return text }
    return "\(text.dropLast()).\(String(part + 1000).dropFirst())Z"
}

/// Returns a path below `/console` from segments, which it percent-encodes.
func consolePath(_ segments: String...) -> String {
    "/console/" + segments.map(PercentEncoding.encode).joined(separator: "/")
}
