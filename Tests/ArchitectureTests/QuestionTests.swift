import FoundationEssentials
import Testing

@Suite("The questions of newcomers")
struct QuestionTests {
    @Test("docs/questions.md has thirty questions, no two alike, each with a heading that answers it")
    func questions() throws {
        let page = try Document(path: "docs/questions.md")
        let questions = Question.all(in: page)
        #expect(questions.count == 30)
        #expect(Set(questions.map { $0.text.lowercased() }).count == questions.count)
        for question in questions {
            let problem = question.problem(in: page.folder)
            #expect(problem == nil, "\(question.text): \(problem ?? "")")
        }
    }

    @Test(
        "what is no question, or has no answer, is found",
        arguments: [
            ("- [Where?](questions.md#apps) Here.", true), ("- [Where?](../README.md#try-it)", true),
            ("- [Where](questions.md#apps)", false), ("- Where?", false), ("- [Where?](questions.md)", false),
            ("- [Where?](#apps)", false), ("- [Where?](nowhere.md#apps)", false),
            ("- [Where?](questions.md#nowhere)", false),
        ]
    )
    func faults(line: String, isRight: Bool) throws {
        let questions = Question.all(in: Document(path: "page.md", text: "# Title\n\n\(line)\n  More.\n"))
        #expect(questions.count == 1)
        let question = try #require(questions.first)
        #expect((question.problem(in: "docs/") == nil) == isRight)
    }
}

/// A list item of docs/questions.md: a question that is a link, with or without a sentence behind it.
private struct Question {
    let text: String
    /// The target of the link; empty without a link.
    let link: String

    /// Returns the list items of a page.
    static func all(in page: Document) -> [Question] {
        page.text.split(separator: "\n").filter { $0.hasPrefix("- ") }.map { line in
            let item = line.dropFirst(2)
            let parts = item.split(separator: "](", maxSplits: 1)
            guard item.hasPrefix("["), parts.count == 2 else { return Question(text: String(item), link: "") }
            return Question(text: String(parts[0].dropFirst()), link: String(parts[1].prefix { $0 != ")" }))
        }
    }

    /// Checks the question and its link.
    ///
    /// - Parameter folder: The folder of the page, to which the link is relative.
    /// - Returns: What is wrong; nil when nothing is.
    func problem(in folder: String) -> String? {
        guard text.hasSuffix("?") else { return "is no question" }
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return "names no page with a heading" }
        let url = Repository.root.appending(path: folder + parts[0]).standardized
        guard let answer = try? String(contentsOfFile: url.path, encoding: .utf8) else {
            return "there is no \(parts[0])"
        }
        let isThere = Document(path: parts[0], text: answer).anchors.contains(parts[1])
        return isThere ? nil : "\(parts[0]) has no heading \(parts[1])"
    }
}
