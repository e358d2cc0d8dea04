import FoundationEssentials
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Columns of a statement, and statements that take a detour")
    struct Detour {
        @Test("the types of the columns are told, and nothing is run")
        func types() async throws {
            try await withClient { client in
                let table = "columns \(UUID())"
                _ = try await client.query(
                    "CREATE TABLE \(identifier: table) (id uuid, at timestamptz, n numeric(9, 2))"
                )
                let inserting: Statement = """
                    INSERT INTO \(identifier: table) VALUES (\(UUID())) RETURNING *, \([""]) AS t
                    """
                #expect(
                    try await client.columnTypes(of: inserting) == [
                        "uuid", "timestamp with time zone", "numeric", "text[]",
                    ]
                )
                #expect(try await client.columnTypes(of: "DELETE FROM \(identifier: table)") == [])
                #expect(try await client.columnTypes(of: "SELECT FROM \(identifier: table)") == [])
                #expect(try await client.query("SELECT FROM \(identifier: table)").count == 0)
                await #expect(throws: PostgresError.self) { try await client.columnTypes(of: "SELECT nothing") }
                #expect(try await client.query("SELECT \(1)").count == 1, "the connection is of use")
                _ = try await client.query("DROP TABLE \(identifier: table)")
            }
        }

        @Test("many ask at once, between statements of others")
        func together() async throws {
            try await withClient { client in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            guard number.isMultiple(of: 2) else {
                                return try await client.query("SELECT \(number)").first(Int.self) == number
                            }
                            return try await client.columnTypes(of: "SELECT \(number), \("x")") == ["bigint", "text"]
                        }
                    }
                    for try await isRight in group { #expect(isRight) }
                }
            }
        }

        @Test("in a transaction a statement takes its detour, which sees what the transaction has done")
        func transaction() async throws {
            let detour = StatementDetour { statement, connection throws(PostgresError) in
                guard statement.sql.hasPrefix("SELECT n") else { return statement }
                let types = try await connection.columnTypes(of: statement)
                return "SELECT \(types)"
            } explain: { error in
                error.sqlState == "42P01" ? .withheld("no such table") : error
            }
            try await withClient { client in
                let types = try await client.withTransaction { connection in
                    let connection = connection.taking(detour)
                    _ = try await connection.query("CREATE TEMPORARY TABLE fresh (n bigint) ON COMMIT DROP")
                    return try await connection.query("SELECT n FROM fresh").first([String].self)
                }
                #expect(types == ["bigint"])
                do {
                    _ = try await client.withTransaction { try await $0.taking(detour).query("TABLE missing") }
                    Issue.record("there is such a table")
                } catch PostgresError.withheld(let reason) {
                    #expect(reason == "no such table")
                }
            }
        }
    }
}
