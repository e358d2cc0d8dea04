import Postgres

/// The shards of an application's tables.
///
/// With schema-based sharding each table has one shard, and all of them are on one node of Citus.
struct Shards: Sendable {
    let schema: String
    /// The shard number of each table.
    let numbers: [String: Int64]

    /// A statement about an application's tables that Citus runs in one piece, on their node (decision D25).
    ///
    /// Citus itself would split a statement of several parts. Each part that inserts would become a separate statement.
    /// A foreign key between two of them would fail, and Citus refuses most functions in such a part. So the statement
    /// is passed to the function `federation.at_shard` of schema.sql. The function runs it on the node unchanged,
    /// except that its table names are those of the shards.
    ///
    /// Beside the function call is a CTE: a DELETE from one of the tables that matches no rows. From the CTE Citus
    /// learns the node, and that the statement writes. Citus then makes the statement and a move of the tables
    /// (`citus_schema_move`) wait for each other. So nothing is written to a shard that has been moved away. A
    /// statement that only reads has, in place of the CTE, a subquery that reads no rows.
    struct Text: Sendable {
        private let wrapper: String
        private let command: String

        /// Creates the statement that Citus runs in one piece.
        ///
        /// - Parameters:
        ///   - command: The statement, with the names of the shards.
        ///   - values: The number of its values.
        ///   - columns: The types of its result columns. If there are none, the result is the number of rows.
        ///   - reads: Whether the statement writes nothing and locks nothing.
        ///   - schema: The application's schema.
        init(_ command: String, values: Int, columns: [String], reads: Bool, schema: String) {
            self.command = command
            let values = (0..<values).map { "$\($0 + 2)::text" }.joined(separator: ", ")
            // The void result of a function is not a column.
            let columns = columns.allSatisfy { $0 == "void" } ? [] : columns
            let names = columns.enumerated().map { "c\($0.offset) \($0.element)" }.joined(separator: ", ")
            let function = columns.isEmpty ? "count_at_shard" : "at_shard"
            let call = "federation.\(function)($1, array[\(values)]::text[]) as r (\(columns.isEmpty ? "c0" : names))"
            let nothing = "from \(quoted(schema)).single_use where kind = ''"
            wrapper =
                reads
                ? "select r.* from \(call) where not exists (select true \(nothing))"
                : "with held as (delete \(nothing) returning true) select r.* from \(call)"
        }

        func statement(with binds: [Bind]) -> Statement {
            Statement(sql: wrapper, binds: [.text(command)] + binds)
        }
    }

    /// Functions of schema `federation` that statements about users call.
    ///
    /// They are on every node; the rest of the schema is on the coordinator.
    private static let functions = [
        "identity_hash", "json_member", "has_ended", "limit_sessions", "has_room_for_session", "has_factor",
    ]

    /// Whether a statement writes nothing and locks nothing, judged by its text.
    static func onlyReads(_ statement: Statement) -> Bool {
        statement.sql.hasPrefix("select") && !statement.sql.contains(/\bfor (no key )?(update|share)\b/)
    }

    /// Replaces the tables in a statement by their shards, and its parameters by elements of one array of texts, `$1`.
    ///
    /// - Parameter statement: A statement of this service. Its strings and names are in plain quotes.
    /// - Returns: The text; nil if the statement uses none of the tables, or uses the configuration, too.
    func command(of statement: Statement) -> String? {
        let (text, types) = (Array(statement.sql.utf8), statement.binds.map { "\($0)" })
        let (schema, federation) = (Array("\(quoted(schema)).".utf8), Array("federation.".utf8))
        var command: [UInt8] = []
        command.reserveCapacity(text.count + 16 * types.count)
        var isAboutTables = false
        var position = 0
        while position < text.count {
            let rest = text[position...]
            switch rest[position] {
            case UInt8(ascii: "\"") where rest.starts(with: schema):
                let name = rest.dropFirst(schema.count).name
                command += schema + name
                if let number = numbers[String(decoding: name, as: UTF8.self)] {
                    command += Array("_\(number)".utf8)
                    isAboutTables = true
                }
                position = name.endIndex
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let end = rest.dropFirst().firstIndex(of: rest[position]) ?? text.endIndex - 1
                command += text[position...end]
                position = end + 1
            case UInt8(ascii: "$"):
                let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                guard let number = Int(String(decoding: digits, as: UTF8.self)), types.indices.contains(number - 1)
                else { return nil }
                command += Array("($1)[\(number)]::\(types[number - 1])".utf8)
                position = digits.endIndex
            case UInt8(ascii: "f") where rest.starts(with: federation):
                let name = rest.dropFirst(federation.count).name
                guard Self.functions.contains(String(decoding: name, as: UTF8.self)) else { return nil }
                command += federation + name
                position = name.endIndex
            default:
                command.append(rest[position])
                position += 1
            }
        }
        return isAboutTables ? String(decoding: command, as: UTF8.self) : nil
    }

    /// Returns a shard's error with the names of table, column and constraint that an ordinary server would report.
    ///
    /// Citus passes on the error's code and message, but no names except those in the message.
    func explained(_ error: PostgresError) -> PostgresError {
        guard case .server(let server) = error, server.table == nil,
            let subject = subject(of: server.message, isColumn: server.sqlState == "23502")
        else { return error }
        return .server(
            server.naming(
                schema: schema,
                table: subject.table,
                column: subject.column,
                constraint: subject.constraint
            )
        )
    }

    /// Finds the names in an error message such as `null value in column "nick" of relation "users_7"`.
    ///
    /// The names are in quotes, in every language. If there are two tables, the message is about the last one, whose
    /// rows refer to the other. That other table may be the operator's.
    ///
    /// - Parameters:
    ///   - message: The message of an error of a shard.
    ///   - isColumn: Whether the message names a column beside the table; otherwise it may name a constraint.
    /// - Returns: The names without shard numbers; nil if no name is a shard's.
    func subject(of message: String, isColumn: Bool) -> (table: String, column: String?, constraint: String?)? {
        let names = message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .compactMap { $0.offset.isMultiple(of: 2) ? nil : String($0.element) }
        let owners = names.map { name in numbers.first { name.hasSuffix("_\($0.value)") }?.key }
        guard let owner = owners.compactMap(\.self).last else { return nil }
        let plain = names.map { name in
            let name = name.hasPrefix("\(schema).") ? String(name.dropFirst(schema.count + 1)) : name
            return name.replacing(/_[0-9]{6,}$/, with: "")
        }
        if names.count == 3 { return (plain[2], nil, plain[1]) }
        let other = zip(names, plain).first { $0.1 != owner }.map { isColumn ? $0.0 : $0.1 }
        return (owner, isColumn ? other : nil, isColumn ? nil : other)
    }
}

extension ArraySlice<UInt8> {
    /// The longest prefix of the text whose characters may all occur in an unquoted SQL name.
    fileprivate var name: ArraySlice<UInt8> {
        prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}
