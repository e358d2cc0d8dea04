/// The citations of a text: pages of the documentation, their sections, decisions, and names of tests.
struct Citations {
    enum Citation: Equatable {
        /// A page, with the heading after `#` if there is one.
        case page(String, heading: String?)
        /// The number of a section, with the page that the text named last; nil when it named none.
        case section(String, of: String?)
        /// A decision such as `D4`.
        case decision(String)
        /// A test such as `T-41` or `F-29d`.
        case test(String)
        /// A name that exists only in notes of the authors, outside of the repository.
        case foreign(String)
    }

    struct Place: Equatable {
        let citation: Citation
        let line: Int
    }

    private(set) var places: [Place] = []

    private enum Source: Equatable {
        case page(String)
        /// A standard, whose sections these tests cannot check.
        case standard
    }

    /// The page or standard that the text named last, to which the next `§` belongs; nil when it named none.
    private var source: Source?
    /// The page, with sections of its own, to which a `§` belongs unless it directly follows another source.
    private let own: Source?

    /// Reads the comments and the literals of a Swift source; literals include titles of tests and output of commands.
    init(of swift: SwiftText) {
        own = nil
        for comment in swift.comments { read(comment.lines, from: comment.line) }
        for literal in swift.tokens where literal.kind == .literal {
            // A literal can contain anything, names of unrelated pages, too.
            source = nil
            read(literal.text.split(separator: "\n", omittingEmptySubsequences: false), from: literal.line) { word in
                word.hasPrefix("docs/")
            }
        }
    }

    /// Reads a whole text, such as a script.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - page: The path of this page, if it has sections of its own.
    init(of text: String, ownSectionsOf page: String? = nil) {
        own = page.map(Source.page)
        source = own
        read(text.split(separator: "\n", omittingEmptySubsequences: false), from: 1)
    }

    private mutating func read(
        _ lines: [some StringProtocol],
        from first: Int,
        isPage: (Substring) -> Bool = { _ in true }
    ) {
        for (offset, line) in lines.enumerated() {
            for word in Substring(line).split(whereSeparator: { !Self.isPartOfWord($0) }) {
                read(Self.withoutEnd(word), line: first + offset, isPage: isPage)
            }
        }
    }

    private mutating func read(_ word: Substring, line: Int, isPage: (Substring) -> Bool) {
        let parts = word.split(separator: "#", maxSplits: 1)
        if let path = parts.first, path.hasSuffix(".md"), path.count > 3, !path.hasPrefix("/") {
            guard isPage(path) else { return }
            source = .page(String(path))
            let heading = parts.count == 2 ? String(parts[1]) : nil
            add(.page(String(path), heading: heading), line)
        } else if word.hasPrefix("§"), word.dropFirst().first?.isNumber == true {
            guard source != .standard else { return }
            let page: String? = if case .page(let path) = source { path } else { nil }
            add(.section(String(word), of: page), line)
        } else if word == "RFC" || word == "level" {
            // RFCs are numbered standards of the IETF; the W3C counts levels of a standard.
            source = .standard
        } else if let own, word != "and", word.isEmpty || !word.allSatisfy(\.isNumber) {
            source = own
        }
        if Self.isNumbered(word, after: "D", digits: 1...2) { add(.decision(String(word)), line) }
        let number = word.last?.isLowercase == true ? word.dropLast() : word
        if Self.isNumbered(number, after: "T-", digits: 2...3) || Self.isNumbered(number, after: "F-", digits: 2...3) {
            add(.test(String(word)), line)
        }
        let isOutside = word.contains("/") && word.prefix { $0 != "/" } == "facts"
        if Self.isNumbered(word, after: "V-", digits: 2...3) || isOutside {
            add(.foreign(String(word)), line)
        }
    }

    private mutating func add(_ citation: Citation, _ line: Int) {
        places.append(Place(citation: citation, line: line))
    }

    /// Returns whether a character belongs to a word.
    ///
    /// So `D4` within an identifier, a UUID, base64 or an escape is no citation.
    private static func isPartOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "§_-./#%+=".contains(character)
    }

    /// Returns the word without the full stop of its sentence and other marks at its end.
    private static func withoutEnd(_ word: Substring) -> Substring {
        var word = word
        while let last = word.last, ".-#=".contains(last) { word.removeLast() }
        return word
    }

    private static func isNumbered(_ word: Substring, after prefix: String, digits: ClosedRange<Int>) -> Bool {
        let number = word.dropFirst(prefix.count)
        return word.hasPrefix(prefix) && digits.contains(number.count)
            && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
