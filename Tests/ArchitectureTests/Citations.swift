/// What a text cites of this repository: pages of the documentation, their sections, decisions, and the names of tests.
struct Citations {
    enum Citation: Equatable {
        /// A page, and the heading behind `#` if there is one.
        case page(String, heading: String?)
        /// The number of a section, and the page that was named last; nil when none was.
        case section(String, of: String?)
        /// A number such as `D4`.
        case decision(String)
        /// A name such as `T-41` or `F-29d`.
        case test(String)
        /// What only those have who wrote it.
        case foreign(String)
    }

    struct Place: Equatable {
        let citation: Citation
        let line: Int
    }

    private(set) var places: [Place] = []

    private enum Source: Equatable {
        case page(String)
        /// A standard, whose sections are not ours to hold.
        case standard
    }

    /// What was named last, and what a `§` is a section of; nil when nothing was.
    private var source: Source?
    /// The page to which a `§` belongs that follows no other source directly: a page with sections of its own.
    private let own: Source?

    /// Reads the comments of a Swift source, and its literals: titles of tests and what commands print are among them.
    init(of swift: SwiftText) {
        own = nil
        for comment in swift.comments { read(comment.lines, from: comment.line) }
        for literal in swift.tokens where literal.kind == .literal {
            // Anything may be in a literal, names of other pages, too.
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
    ///   - page: The page that it is, if it has sections of its own.
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
            // The IETF numbers its standards; the W3C counts the levels of one.
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

    /// What holds a word together; so `D4` in an identifier, a UUID, base64 or an escape is none.
    private static func isPartOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "§_-./#%+=".contains(character)
    }

    /// The word without the full stop of its sentence and other marks at its end.
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
