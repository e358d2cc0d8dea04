import Domain

/// A literal value of a where clause.
enum WhereLiteral {
    case text(String)
    case number(String)
    case boolean(Bool)

    /// Returns the literal as a value of a column; nil if the column cannot have that value.
    ///
    /// Numbers and Booleans may be quoted, since apps quote every value in a clause.
    func value(for column: UserColumn) -> UserFilter.Value? {
        switch column {
        case .objectID: ObjectID(word).map(UserFilter.Value.objectID) ?? .property(.text(word))
        case .created, .updated, .lastLogin: moment.map { .property(.dateTime($0)) }
        case .status, .socialAccount, .locale: .property(.text(word))
        case .property(let property): value(of: property.type).map(UserFilter.Value.property)
        }
    }

    private var word: String {
        switch self {
        case .text(let text), .number(let text): text
        case .boolean(let value): value ? "true" : "false"
        }
    }

    private func value(of type: PropertyType) -> PropertyValue? {
        switch type {
        case .string, .text: .text(word)
        case .int, .double: number
        case .boolean: truth.map(PropertyValue.boolean)
        case .date: day.map(PropertyValue.date)
        case .dateTime: moment.map(PropertyValue.dateTime)
        case .json: nil
        }
    }

    /// The literal as an exact integer or a finite double.
    private var number: PropertyValue? {
        guard case .boolean = self else {
            if let integer = Int64(word) { return .integer(integer) }
            guard let double = Double(word), double.isFinite else { return nil }
            return .double(double)
        }
        return nil
    }

    private var truth: Bool? {
        switch word.lowercased() {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// The literal as a time in milliseconds since 1970; nil if it is not a time.
    ///
    /// A number stands for milliseconds since 1970. A text must have a format of `WhereMoment`.
    private var moment: Int64? {
        switch self {
        case .boolean: nil
        case .number(let text): Int64(text).flatMap { WhereMoment.isMoment($0) ? $0 : nil }
        case .text(let text):
            Int64(text).flatMap { WhereMoment.isMoment($0) ? $0 : nil } ?? WhereMoment.read(text)
        }
    }

    /// The literal as a day in UTC.
    private var day: CalendarDate? { moment.flatMap(WhereMoment.day) }
}

extension UserColumn {
    var isText: Bool {
        switch self {
        case .created, .updated, .lastLogin: false
        case .objectID, .status, .socialAccount, .locale: true
        case .property(let property): property.type == .string || property.type == .text
        }
    }

    /// The expected form of the column's values, for error messages.
    var valueRule: String {
        switch self {
        case .created, .updated, .lastLogin: Self.momentRule
        case .objectID, .status, .socialAccount, .locale: "a text in single quotes is expected"
        case .property(let property):
            switch property.type {
            case .string, .text: "a text in single quotes is expected"
            case .int, .double: "a number is expected"
            case .boolean: "true or false is expected"
            case .date, .dateTime: Self.momentRule
            case .json: "a JSON property only supports is null"
            }
        }
    }

    private static let momentRule =
        "milliseconds since 1970 are expected, or a moment in single quotes like '2026-11-23' or '2026-11-23T16:00:00.000Z'"
}
