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
