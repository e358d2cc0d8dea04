import Testing

@testable import Postgres

@Suite("Error codes")
struct SQLStateTests {
    @Test(
        "each code asks for its handling",
        arguments: [
            ("40001", .retryTransaction), ("40P01", .retryTransaction),
            ("08000", .dropConnection), ("08006", .dropConnection), ("08P01", .dropConnection),
            ("57P01", .dropConnection), ("57P02", .dropConnection), ("57P03", .dropConnection),
            ("25006", .dropConnection),
            ("53300", .wait), ("53100", .wait), ("53200", .wait), ("55P03", .wait), ("57014", .wait),
            ("22021", .clientFault), ("22P02", .clientFault), ("22P05", .clientFault), ("54000", .clientFault),
            ("54011", .clientFault),
            ("23505", .constraintViolation), ("23514", .constraintViolation), ("23000", .constraintViolation),
            ("42601", .other), ("26000", .other), ("0A000", .other), ("XX000", .other), ("22003", .other),
        ] as [(SQLState, Handling)]
    )
    func handling(code: SQLState, expected: Handling) {
        #expect(code.handling == expected)
    }

    @Test("a code prints as its five characters and equals only itself")
    func text() {
        let code: SQLState = "23505"
        #expect("\(code)" == "23505")
        #expect(code == SQLState(bytes: "23505".utf8))
        #expect(code != "23503")
        #expect(SQLState(bytes: "235".utf8) != "23500")
        #expect(SQLState(bytes: "2350599".utf8) == code)
    }

    @Test(
        "only codes that come with the end of a session leave the outcome open",
        arguments: ["57P01", "57P02", "08006"] as [SQLState]
    )
    func ending(code: SQLState) {
        #expect(code.endsSession)
        for code: SQLState in ["25006", "40001", "57014", "23505"] { #expect(!code.endsSession) }
    }

    @Test("errors of the driver say what to do, too")
    func kinds() {
        #expect(PostgresError.unavailable(nil).handling == .wait)
        #expect(PostgresError.overloaded.handling == .wait)
        #expect(PostgresError.leaseTimeout.handling == .wait)
        #expect(PostgresError.connectionLost(outcomeUnknown: true).handling == .dropConnection)
        #expect(PostgresError.cancelled.handling == .other)
    }

    @Test("an error of the server prints names, never the message")
    func description() {
        let error = PostgresError.server(
            ServerError(
                sqlState: "23505",
                schema: "demo",
                table: "users",
                column: nil,
                constraint: "users_email_key",
                dataType: nil,
                row: nil,
                message: "canary"
            )
        )
        #expect("\(error)" == "PostgreSQL error 23505, constraint users_email_key, table demo.users")
        #expect(!String(reflecting: error).contains("canary"))
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("canary"))
    }
}
