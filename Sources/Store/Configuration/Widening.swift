import Domain
import Encodings
import Postgres

/// The conversion of values of one type to a wider one (`PropertyType.widens`).
///
/// As text, a number or a boolean has its usual form, a DATE is `YYYY-MM-DD`, and a DATETIME is
/// `YYYY-MM-DDTHH:MM:SS.mmmZ`. Mapped values that are stored as text have the same forms. A DATE becomes the DATETIME
/// of its midnight in UTC. A value becomes the JSON that responses show: a DATETIME becomes milliseconds since 1970.
struct Widening {
    let from: PropertyType
    let to: PropertyType

    /// Whether both types are stored in columns of the same PostgreSQL type.
    var keepsColumn: Bool { from.sqlType.hasSameBytes(as: to.sqlType) }

    /// Returns the SQL expression that converts an expression of the narrower type to the wider type.
    func value(of value: String) -> String {
        switch (from, to) {
        case (.dateTime, .json):
            """
            case when isfinite(\(value)) then to_jsonb(floor(extract(epoch from \(value)) * 1000)::bigint)
                else to_jsonb((\(value))::text) end
            """
        case (_, .json): "to_jsonb(\(value))"
        case (.dateTime, .string), (.dateTime, .text):
            // to_char() supports neither the infinities nor the years before 1 and after 9999.
            """
            case when \(value) >= timestamptz '0001-01-01 00:00Z' and \(value) < timestamptz '10000-01-01 00:00Z'
                then to_char((\(value)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') else (\(value))::text end
            """
        case (.date, .dateTime): "(\(value))::timestamp at time zone 'UTC'"
        default: "(\(value))::\(to.sqlType)"
        }
    }
}

extension ChangeTransaction {
    mutating func widen(_ name: PropertyName, to type: PropertyType, in users: UsersTable) async throws {
        try refuseBuiltIn(name)
        let widening = Widening(from: try await self.type(of: name), to: type)
        guard widening.from.widens(to: type) else {
            throw Failure(
                .conflict,
                "\(name) is \(widening.from.rawValue), and not every value of it would be a \(type.rawValue).",
                details: ["property": .string(name.text)]
            )
        }
        try await expectOne(
            """
            update federation.properties set type = \(type.rawValue)
            where application_id = \(application.text) and name = \(name.text)
            """,
            "declared property \(name)"
        )
        guard !widening.keepsColumn else { return }
        guard let live = try await users.column(name, on: tables) else { throw Self.columnMissing(name) }
        // An earlier attempt at this change has converted the column, but died before its second commit.
        if users.place.database != nil, live.type.hasSameBytes(as: type.sqlType) { return }

        let written = WrittenValues(of: name, in: users)
        let isTracked = try await exists(written.some, for: name, orElse: WrittenValues.advice)
        if widening.from == .int, type == .double { try await refuseInexact(name, in: users) }
        // PostgreSQL would rebuild the index while logins wait, and in another form than the wider type's.
        for index in try await users.indexes(on: tables) where index.column == name.text {
            try await exclusively(index.drop(), for: name, orElse: WrittenValues.advice)
        }
        let column = quoted(live.name)
        let action = "alter column \(column) type \(type.sqlType) using (\(widening.value(of: column)))"
        if users.adopted != nil {
            try await changeAdoptedTable(users, action, for: name, orElse: WrittenValues.advice)
        } else {
            try await alter(users, action, for: name, orElse: WrittenValues.advice)
        }
        if isTracked { try await exclusively(written.widen(widening), for: name, orElse: WrittenValues.advice) }
    }

    /// Refuses values beyond ±2⁵³, where a double cannot represent every integer exactly.
    private mutating func refuseInexact(_ name: PropertyName, in users: UsersTable) async throws {
        try await exclusively(
            "lock table \(users.users) in access exclusive mode",
            for: name,
            orElse: WrittenValues.advice
        )
        let column = quoted(name.text)
        let inexact: Statement = """
            select 1 from \(unsafeRaw: users.users)
            where \(unsafeRaw: column) > 9007199254740992 or \(unsafeRaw: column) < -9007199254740992 limit 1
            """
        guard try await exists(inexact, for: name, orElse: WrittenValues.advice) else { return }
        throw Failure(
            .valueNotConvertible,
            "Some users have a value of \(name) beyond ±2^53, which no DOUBLE holds exactly. Nothing has changed.",
            details: ["property": .string(name.text)]
        )
    }

    private func type(of name: PropertyName) async throws -> PropertyType {
        let result = try await connection.query(
            """
            select type from federation.properties where application_id = \(application.text) and name = \(name.text)
            """
        )
        guard let type = try result.first(String.self).flatMap(PropertyType.init) else {
            throw Failure(.internal, "The change does not fit the application: \(name) is not declared.")
        }
        return type
    }
}
