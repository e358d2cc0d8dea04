import Foundation
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Copying rows")
    struct Copying {
        private static let columns = [
            "number", "name", "ratio", "member", "id", "bytes", "moment", "day", "document", "words",
        ]
        private static let table = """
            CREATE TEMPORARY TABLE copied (number bigint, name text, ratio float8, member boolean, id uuid,
                bytes bytea, moment timestamptz, day date, document jsonb, words text[])
            """

        private static func row(_ number: Int64, name: String) -> [Bind] {
            [
                .int64(number), .text(name), .double(0.5), .bool(true), .uuid(id), .bytes([0, 255]),
                .timestamp(Timestamp(microseconds: 1_577_836_800_123_456)), .day(Day(daysSince1970: -1)),
                .json(JSONText(#"{"a": [1]}"#)), .texts(["x", "", "é"]),
            ]
        }

        private static let id = UUID()

        @Test("values of every type, NULLs and empty texts arrive as they are, and the session goes on as before")
        func values() async throws {
            try await withClient { client in
                try await client.withConnection { connection in
                    _ = try await connection.query(Statement(sql: Self.table))
                    var rows = CopyRows()
                    rows.append(Self.row(1, name: "tab\t, line\n, \\N and \"quotes\" é"))
                    rows.append(Self.row(2, name: ""))
                    rows.append(Bind.NullType.allCases.map(Bind.null))
                    #expect(rows.count == 3)
                    // NULL has no type in a COPY, so the row's NULLs fit any order of columns.
                    try await connection.copy(rows, into: "copied", columns: Self.columns)
                    let read = try await connection.query("SELECT * FROM copied ORDER BY number")
                    var first = try #require(read.first)
                    #expect(try first.next(Int.self) == 1)
                    #expect(try first.next(String.self) == "tab\t, line\n, \\N and \"quotes\" é")
                    #expect(try first.next(Double.self) == 0.5)
                    #expect(try first.next(Bool.self))
                    #expect(try first.next(UUID.self) == Self.id)
                    #expect(try first.next([UInt8].self) == [0, 255])
                    #expect(try first.next(Timestamp.self).microseconds == 1_577_836_800_123_456)
                    #expect(try first.next(Day.self).daysSince1970 == -1)
                    #expect(try first.next(JSONText.self).text == #"{"a": [1]}"#)
                    #expect(try first.next([String].self) == ["x", "", "é"])
                    let counts = try await connection.query(
                        "SELECT count(*), count(number), count(name), count(*) FILTER (WHERE name = '') FROM copied"
                    ).first(Int.self, Int.self, Int.self, Int.self)
                    #expect(counts.map { $0 == (3, 2, 2, 1) } == true)
                    try await connection.copy(CopyRows(), into: "copied", columns: Self.columns)
                    #expect(try await connection.query("SELECT FROM copied").count == 3)
                }
                try await expectServes(client)
            }
        }

        @Test("many more bytes than the socket holds arrive, while others are served")
        func large() async throws {
            try await withClient { client in
                let filler = String(repeating: "x", count: 10_000)
                var rows = CopyRows()
                for number in 0..<5000 { rows.append([.int64(Int64(number)), .text(filler)]) }
                async let sum = client.withTransaction { [rows] connection in
                    _ = try await connection.query("CREATE TEMPORARY TABLE large (n bigint, t text) ON COMMIT DROP")
                    try await connection.copy(rows, into: "large", columns: ["n", "t"])
                    return try await connection.query("SELECT sum(length(t))::bigint FROM large").first(Int.self)
                }
                for _ in 0..<20 { try await expectServes(client) }
                let length = try await sum
                #expect(length == 50_000_000)
            }
        }

        @Test("a row that is refused is named, no value is repeated, and nothing of the copy stays")
        func refused() async throws {
            try await withClient { client in
                try await client.withConnection { connection in
                    _ = try await connection.query("CREATE TEMPORARY TABLE checked (n bigint CHECK (n < 3), t text)")
                    var rows = CopyRows()
                    for number in 1...4 { rows.append([.int64(Int64(number)), .text("canary")]) }
                    let error = await postgresError {
                        try await connection.copy(rows, into: "checked", columns: ["n", "t"])
                    }
                    guard case .server(let server)? = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(server.sqlState == "23514")
                    #expect(server.row == 3)
                    #expect(server.description.contains("row 3") && !server.description.contains("canary"))
                    #expect(try await connection.query("SELECT FROM checked").count == 0)
                    // A value that is too long, a table that does not exist, and a text that PostgreSQL refuses.
                    for (bind, table, column, code) in [
                        (Bind.text("longer than a number"), "checked", "n", "22P03"),
                        (.int64(1), "nowhere", "n", "42P01"),
                        (.bytes([0]), "checked", "t", "22021"),
                    ] as [(Bind, String, String, SQLState)] {
                        var rows = CopyRows()
                        rows.append([bind])
                        let error = await postgresError {
                            try await connection.copy(rows, into: table, columns: [column])
                        }
                        #expect(error?.sqlState == code, "\(String(describing: error))")
                    }
                    #expect(try await connection.query("SELECT 1").count == 1)
                }
            }
        }

        /// Creates a table that is slow for each row, so that most of a copy remains to be sent.
        private static func slowTable(_ client: PostgresClient, _ name: String) async throws {
            try await client.withConnection { connection in
                try await connection.execute(
                    script: """
                        DROP TABLE IF EXISTS \(name);
                        CREATE TABLE \(name) (n bigint, t text);
                        CREATE OR REPLACE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS
                            'BEGIN PERFORM pg_sleep(0.05); RETURN new; END';
                        CREATE TRIGGER rests BEFORE INSERT ON \(name) FOR EACH ROW EXECUTE FUNCTION rest();
                        """
                )
            }
        }

        /// Starts a copy into a slow table, calls `stop` once the server has begun, and returns the copy's error.
        private static func interrupted(
            _ client: PostgresClient,
            _ name: String,
            by stop: (Task<Void, any Error>) async throws -> Void
        ) async throws -> PostgresError? {
            let task = Task {
                try await client.withTransaction { connection in
                    var rows = CopyRows()
                    let filler = String(repeating: "x", count: 10_000)
                    for number in 0..<2000 { rows.append([.int64(Int64(number)), .text(filler)]) }
                    try await connection.copy(rows, into: name, columns: ["n", "t"])
                }
            }
            let cluster = try await Cluster.shared
            let isCopying = try await eventually {
                try await cluster.psql(
                    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY %\(name)%' AND wait_event = 'PgSleep'"
                ) == "1\n"
            }
            #expect(isCopying)
            try await stop(task)
            return await postgresError { try await task.value }
        }

        @Test("who stops waiting has copied nothing, and the next one gets another session")
        func cancelled() async throws {
            try await withClient(nil, { $0.exclusiveConnections = 1 }) { client in
                try await Self.slowTable(client, "cancelled")
                let error = try await Self.interrupted(client, "cancelled") { $0.cancel() }
                guard case .cancelled? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                try await expectServes(client)
                #expect(try await client.query("SELECT FROM cancelled").count == 0)
            }
        }

        @Test("a connection that breaks in the middle of a copy has copied nothing")
        func killed() async throws {
            let cluster = try await Cluster.shared
            try await withClient(nil, { $0.exclusiveConnections = 1 }) { client in
                try await Self.slowTable(client, "broken")
                let error = try await Self.interrupted(client, "broken") { _ in
                    try await cluster.psql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY %broken%'"
                    )
                }
                guard case .connectionLost(outcomeUnknown: false)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                try await expectServes(client)
                #expect(try await client.query("SELECT FROM broken").count == 0)
            }
        }
    }
}
