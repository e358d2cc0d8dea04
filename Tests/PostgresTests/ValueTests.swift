import FoundationEssentials
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Values")
    struct Values {
        /// Sends a value, lets the server convert it to text, and reads both back.
        private func roundTrip<Value: PostgresValue & Equatable>(_ value: Value, as text: String) async throws {
            try await withClient { client in
                let set = try await client.query(
                    "SELECT \(value), \(value), \(value)::text, \(nil as Value?), \(nil as Value?) IS NULL"
                )
                var row = try #require(set.first)
                #expect(try row.next(Value.self) == value)
                #expect(try row.next(Value?.self) == value)
                #expect(try row.next(String.self) == text)
                #expect(try row.next(Value?.self) == nil)
                #expect(try row.next(Bool.self))
            }
        }

        @Test("texts", arguments: ["", "x", "Grüße, 世界 🌍", "'; DROP TABLE x; --", #"\ " $1 %s"#, "a\nb\t"])
        func texts(text: String) async throws {
            try await roundTrip(text, as: text)
        }

        @Test("integers", arguments: [0, 1, -1, Int64.max, Int64.min])
        func integers(number: Int64) async throws {
            try await roundTrip(number, as: "\(number)")
            try await roundTrip(Int(number), as: "\(number)")
        }

        @Test("doubles", arguments: [0, 1.5, -0.1, 1e300, .leastNonzeroMagnitude, .infinity] as [Double])
        func doubles(number: Double) async throws {
            let text = number == 0 ? "0" : number == .infinity ? "Infinity" : number == 1e300 ? "1e+300" : "\(number)"
            try await roundTrip(number, as: text)
        }

        @Test("booleans")
        func booleans() async throws {
            try await roundTrip(true, as: "true")
            try await roundTrip(false, as: "false")
        }

        @Test("UUIDs")
        func uuids() async throws {
            let uuid = UUID()
            try await roundTrip(uuid, as: uuid.uuidString.lowercased())
        }

        @Test("bytes")
        func bytes() async throws {
            try await roundTrip([] as [UInt8], as: "\\x")
            try await roundTrip([0, 1, 254, 255, 0] as [UInt8], as: "\\x0001feff00")
        }

        @Test(
            "points in time",
            arguments: [
                (0, "1970-01-01 00:00:00+00"), (1_795_234_567_890_123, "2026-11-21 04:16:07.890123+00"),
                (-1, "1969-12-31 23:59:59.999999+00"), (.max, "infinity"), (.min, "-infinity"),
            ] as [(Int64, String)]
        )
        func timestamps(microseconds: Int64, text: String) async throws {
            try await withClient { client in
                let value = Timestamp(microseconds: microseconds)
                let row = try await client.query(
                    "SELECT \(value), (\(value) AT TIME ZONE 'UTC')::text, \(value) AT TIME ZONE 'UTC'"
                ).first(Timestamp.self, String.self, Timestamp.self)
                #expect(row?.0 == value)
                #expect(row?.1 == text.replacing("+00", with: ""))
                #expect(row?.2 == value)
            }
        }

        @Test("a point in time beyond what PostgreSQL counts is refused by it, not trapped on")
        func timestampsOutOfRange() async throws {
            try await withClient { client in
                for value in [Int64.min + 1, Int64.min + 946_684_800_000_000, Int64.min / 2] {
                    let error = await postgresError {
                        _ = try await client.query("SELECT \(Timestamp(microseconds: value))")
                    }
                    #expect(error?.sqlState == "22008")
                }
                for value in [Int32.min + 1, Int32.min + 10_957, Int32.max - 1] {
                    let error = await postgresError {
                        _ = try await client.query("SELECT \(Day(daysSince1970: value))")
                    }
                    #expect(error?.sqlState == "22008")
                }
            }
        }

        @Test("the last microsecond of 64 bits, and all behind it, are refused and not read as infinity")
        func lastMicroseconds() async throws {
            try await withClient { client in
                var row = try await client.query(
                    """
                    SELECT '294247-01-10 04:00:54.775806Z'::timestamptz, '294247-01-10 04:00:54.775807Z'::timestamptz,
                    '294276-12-31 23:59:59Z'::timestamptz
                    """
                ).first
                #expect(try row?.next(Timestamp.self) == Timestamp(microseconds: .max - 1))
                for _ in 1...2 {
                    #expect(throws: PostgresError.self) { _ = try row?.next(Timestamp.self) }
                }
            }
        }

        @Test(
            "days",
            arguments: [
                (0, "1970-01-01"), (-1, "1969-12-31"), (20_000, "2024-10-04"), (.max, "infinity"), (.min, "-infinity"),
            ] as [(Int32, String)]
        )
        func days(number: Int32, text: String) async throws {
            try await roundTrip(Day(daysSince1970: number), as: text)
        }

        @Test("JSON")
        func json() async throws {
            try await roundTrip(JSONText(#"{"a": [1, null, "ü"]}"#), as: #"{"a": [1, null, "ü"]}"#)
            try await withClient { client in
                let row = try await client.query("SELECT '{\"b\" :1}'::json, NULL::jsonb")
                    .first(JSONText.self, JSONText?.self)
                #expect(row?.0.text == #"{"b" :1}"#)
                #expect(row?.1 == .some(nil))
            }
        }

        @Test("arrays of texts")
        func arrays() async throws {
            try await roundTrip([] as [String], as: "{}")
            try await roundTrip(["a", "", "b,c", "\"", "ü"], as: #"{a,"","b,c","\"",ü}"#)
        }

        @Test("narrower types are read into wider ones")
        func widening() async throws {
            try await withClient { client in
                var row = try #require(
                    try await client.query(
                        """
                        SELECT 7::int2, 8::int4, 1.5::float4, 'v'::varchar(3), 'n'::name, 'c'::char(2),
                        ARRAY['x']::varchar[], '2000-01-01'::timestamp
                        """
                    ).first
                )
                #expect(try row.next(Int.self) == 7)
                #expect(try row.next(Int64.self) == 8)
                #expect(try row.next(Double.self) == 1.5)
                #expect(try row.next(String.self) == "v")
                #expect(try row.next(String.self) == "n")
                #expect(try row.next(String.self) == "c ")
                #expect(try row.next([String].self) == ["x"])
                #expect(try row.next(Timestamp.self).microseconds == 946_684_800_000_000)
            }
        }

        @Test("a column that does not hold what is asked for is named, its value is not")
        func mismatches() async throws {
            try await withClient { client in
                var row = try #require(
                    try await client.query(
                        "SELECT 'canary' AS word, NULL::bigint AS nothing, ARRAY[NULL, 'canary'] AS gaps, '{{a}}'::text[] AS deep"
                    ).first
                )
                func failure(_ body: () throws -> Void) -> DecodingFailure? {
                    do { try body() } catch PostgresError.decoding(let failure) { return failure } catch {}
                    return nil
                }
                let whole = row
                let wrong = failure { _ = try row.next(Int.self) }
                #expect(wrong == DecodingFailure(reason: .wrongType, column: "word", found: "text", wanted: "Int"))
                #expect(wrong.map { "\($0)" } == "column word is text and cannot be read as Int")
                let null = failure { _ = try row.next(Int.self) }
                #expect(null.map { "\($0)" } == "column nothing (bigint) is NULL and was read as Int")
                #expect(failure { _ = try row.next([String].self) }?.reason == .malformed)
                #expect(failure { _ = try row.next([String].self) }?.reason == .malformed)
                let absent = failure { _ = try row.next(Int.self) }
                #expect(absent == DecodingFailure(reason: .absent, column: "4", found: "absent", wanted: "Int"))
                // Reading skips a refused value all the same.
                row = whole
                #expect(failure { _ = try row.next(Int?.self) }?.column == "word")
                #expect(try row.next(Int?.self) == nil)
                let canary = try await client.query("SELECT 1 AS number, 'canary' AS word")
                let surplus = failure { _ = try canary.first(Int.self) }
                #expect(surplus == DecodingFailure(reason: .surplus, column: "word", found: "text", wanted: "nothing"))
                #expect(surplus.map { "\($0)" } == "column word is text and nobody reads it")
                #expect(failure { _ = try canary.all(Int.self, String.self, Int.self) }?.reason == .absent)
            }
        }

        @Test("rows come in order, with their tag and number")
        func rows() async throws {
            try await withClient { client in
                let set = try await client.query("SELECT n FROM generate_series(1, \(1000)) n")
                #expect(set.count == 1000)
                #expect(set.columnNames == ["n"])
                #expect(set.commandTag == "SELECT 1000")
                #expect(set.affectedRows == 1000)
                #expect(try set.all(Int.self) == Array(1...1000))
                let none = try await client.query("SELECT 1 WHERE false")
                #expect(none.first == nil)
                #expect(none.count == 0)
            }
        }

        @Test("a large value goes both ways")
        func large() async throws {
            try await withClient { client in
                let text = String(repeating: "ä", count: 4_000_000)
                let row = try await client.query("SELECT \(text), length(\(text))").first(String.self, Int.self)
                #expect(row?.1 == 4_000_000)
                #expect(row?.0.utf8.count == 8_000_000)
            }
        }
    }
}
