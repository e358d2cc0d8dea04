/// A column of a live users table.
package struct LiveColumn: Sendable, Equatable {
    package let name: String
    /// As `format_type` writes it: `text`, `bigint`, `timestamp with time zone`.
    package let sqlType: String
    package let notNull: Bool
    /// Whether the column has a default or is generated.
    package let hasDefault: Bool

    package init(name: String, sqlType: String, notNull: Bool, hasDefault: Bool) {
        self.name = name
        self.sqlType = sqlType
        self.notNull = notNull
        self.hasDefault = hasDefault
    }
}

extension PropertyType {
    /// The type of the property's column (design.md §6), as `format_type` writes it.
    package var sqlType: String {
        switch self {
        case .string, .text: "text"
        case .int: "bigint"
        case .double: "double precision"
        case .boolean: "boolean"
        case .date: "date"
        case .dateTime: "timestamp with time zone"
        case .json: "jsonb"
        }
    }
}
