import Encodings
import FoundationEssentials

/// A column of a table: its title, and how to read its value from the JSON object of a row.
struct Column: Sendable {
    enum Kind: Sendable {
        /// A text that may be shortened if the terminal is too narrow.
        case text
        /// A text that may be shortened; the column is left out if no row has a value.
        case rare
        /// A value that is never shortened, so that an operator can copy it into the next command.
        case id
        /// A time in milliseconds since 1970.
        case moment
    }

    let title: String
    let kind: Kind
    private let value: @Sendable (JSONObject) -> JSONValue?

    init(_ title: String, _ member: String, _ kind: Kind = .text) {
        self.init(title, kind) { $0[member] }
    }

    init(_ title: String, _ kind: Kind = .text, _ value: @Sendable @escaping (JSONObject) -> JSONValue?) {
        self.title = title
        self.kind = kind
        self.value = value
    }

    var mayBeCut: Bool { kind == .text || kind == .rare }

    func cell(of row: JSONValue) -> String {
        Cell.text(row.object.flatMap(value), isMoment: kind == .moment)
    }
}

/// Formats a JSON value as the text of a table cell.
enum Cell {
    private static let nothing = "-"

    static func isEmpty(_ text: String) -> Bool { text == nothing }

    static func text(_ value: JSONValue?, isMoment: Bool = false) -> String {
        switch value {
        case nil, .null: nothing
        case .bool(let value): value ? "yes" : "no"
        case .string(let text): text.isEmpty ? "\"\"" : TerminalText.escaped(text)
        case .number(let number): isMoment ? moment(number) : number.literal
        case .array(let elements) where elements.allSatisfy(\.isScalar):
            elements.isEmpty ? nothing : elements.map { text($0) }.joined(separator: ", ")
        case .array, .object: TerminalText.escapedJSON(value?.text ?? "")
        }
    }

    private static func moment(_ number: JSONNumber) -> String {
        // The end of year 9999; a later value is no real time.
        guard let milliseconds = number.integer, (0..<253_402_300_800_000).contains(milliseconds) else {
            return number.literal
        }
        return Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format()
    }
}

extension JSONValue {
    fileprivate var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }
}

/// A table of aligned rows under a header.
struct Table {
    let columns: [Column]
    let rows: [[String]]

    init(_ columns: [Column], _ rows: [JSONValue]) {
        self.columns = columns.filter { column in
            column.kind != .rare || rows.contains { !Cell.isEmpty(column.cell(of: $0)) }
        }
        self.rows = rows.map { [columns = self.columns] row in columns.map { $0.cell(of: row) } }
    }

    /// Returns the lines of the table for a terminal of `limit` columns; if `limit` is nil, no cell is shortened.
    func lines(within limit: Int?) -> [String] {
        let cells = [columns.map(\.title)] + rows
        var widths = columns.indices.map { column in
            cells.map { TerminalText.width(of: $0[column]) }.max() ?? 0
        }
        if let limit { shrink(&widths, to: limit) }
        return cells.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let text = limit == nil ? cell.0 : TerminalText.cut(cell.0, to: cell.1)
                let padding = column == columns.count - 1 ? 0 : cell.1 - TerminalText.width(of: text)
                return text + String(repeating: " ", count: max(0, padding))
            }.joined(separator: Self.gap)
        }
    }

    private static let gap = "  "
    private static let narrowest = 8

    /// Reduces the widths of columns until the table fits the terminal; the widest columns shrink first.
    ///
    /// Columns of ids keep their width. If the table still does not fit, the terminal wraps its lines.
    private func shrink(_ widths: inout [Int], to limit: Int) {
        let flexible = columns.indices.filter { columns[$0].mayBeCut }
        let fixed = columns.indices.filter { !columns[$0].mayBeCut }.reduce(0) { $0 + widths[$1] }
        let room = limit - fixed - Self.gap.utf8.count * (columns.count - 1)
        var cap = flexible.map { widths[$0] }.max() ?? 0
        while cap > Self.narrowest, flexible.reduce(0, { $0 + min(widths[$1], cap) }) > room { cap -= 1 }
        for column in flexible { widths[column] = min(widths[column], cap) }
    }
}
