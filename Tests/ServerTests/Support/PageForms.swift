import Vocabulary

/// The forms of a page, as a browser reads them that runs no script.
enum PageForms {
    /// The first form of a page that goes to a path; nil where there is none.
    static func form(to path: String, in page: String) -> Substring? {
        guard let start = page.firstRange(of: "action=\"\(path)\"") else { return nil }
        let rest = page[start.upperBound...]
        return rest.firstRange(of: "</form>").map { rest[..<$0.lowerBound] } ?? rest
    }

    /// What the fields of a form, or of a whole page, hold, by their names.
    ///
    /// Ticked boxes and chosen options are there as browsers send them.
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
            // A line break at the beginning is none of the text.
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
