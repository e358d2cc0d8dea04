/// The forms of a page, as parsed by a browser without scripts.
enum PageForms {
    /// Returns the first form of a page with a path as its action; `nil` without such a form.
    static func form(to path: String, in page: String) -> Substring? {
        guard let start = page.firstRange(of: "action=\"\(path)\"") else { return nil }
        let rest = page[start.upperBound...]
        return rest.firstRange(of: "</form>").map { rest[..<$0.lowerBound] } ?? rest
    }

    /// Returns the values of the fields of a form, or of a whole page, by name.
    ///
    /// Ticked boxes and selected options are included as browsers send them.
    static func fields(in form: Substring) -> [String: String] {
        var fields: [String: String] = [:]
        var lastSelect: String?
        for element in form.split(separator: "<") {
            guard let kind = ["input", "select", "textarea", "option"].first(where: element.hasPrefix) else { continue }
            let end = element.firstIndex(of: ">") ?? element.endIndex
            let (tag, content) = (element[..<end], element[end...].dropFirst())
            if kind == "option" {
                guard let select = lastSelect else { continue }
                let value = attribute("value", of: tag) ?? unescaped(String(content))
                if fields[select] == nil || tag.hasSuffix(" selected") { fields[select] = value }
                continue
            }
            lastSelect = nil
            guard let name = attribute("name", of: tag) else { continue }
            switch kind {
            case "select": lastSelect = name
            // A line break at the beginning does not belong to the text.
            case "textarea": fields[name] = unescaped(String(content.first == "\n" ? content.dropFirst() : content))
            case _ where tag.contains("type=\"checkbox\""):
                if tag.contains(" checked") { fields[name] = attribute("value", of: tag) ?? "on" }
            default: fields[name] = attribute("value", of: tag) ?? ""
            }
        }
        return fields
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        guard let start = tag.firstRange(of: " \(name)=\"") else { return nil }
        return unescaped(String(tag[start.upperBound...].prefix { $0 != "\"" }))
    }

    private static func unescaped(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}
