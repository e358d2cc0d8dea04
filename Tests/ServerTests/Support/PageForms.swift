import Vocabulary

/// The forms of a page, as a browser reads them that runs no script.
enum PageForms {
    /// The first form of a page that goes to a path; nil where there is none.
    static func form(to path: String, in page: String) -> Substring? {
        guard let start = page.firstRange(of: "action=\"\(path)\"") else { return nil }
        let rest = page[start.upperBound...]
        return rest.firstRange(of: "</form>").map { rest[..<$0.lowerBound] } ?? rest
    }

    /// The hidden fields of a form, or of a whole page.
    static func hidden(in form: Substring) -> [String: String] {
        var fields: [String: String] = [:]
        for input in form.split(separator: "<input type=\"hidden\" ").dropFirst() {
            let parts = input.split(separator: "\"", maxSplits: 4, omittingEmptySubsequences: false)
            guard parts.count > 3 else { continue }
            fields[String(parts[1])] = unescaped(String(parts[3]))
        }
        return fields
    }

    private static func unescaped(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}
