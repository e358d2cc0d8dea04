import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("JSON in the database")
struct StoredJSONTests {
    private static let texts = [
        "null", "[true, false]", "1e308", "-5e-324", "1.50", "12e-1", "0.5e3", "0.0001e3", "-0", "-0.0", "0e5", "0e-5",
        "-1.25e-7", "123456789012345678901234567890", #"["a\n\u0001\u001fé\"\\/\b\f\r\t", "\u2028\u007f"]"#,
        #"{"a": [1, {"b": null}], "c é": {}, "d": []}"#,
    ]

    @Test("the size that is counted is that of the text that PostgreSQL writes", arguments: texts)
    func size(text: String) async throws {
        let value = try JSONParser.parse(text, limits: .reply)
        try await withDatabase(.empty) { database in
            let rows = try await database.psql("select octet_length('\(value.text)'::jsonb::text)")
            #expect(rows == [["\(value.storedBytes)"]])
        }
    }

    @Test("what the parser takes is read again as the same number, however PostgreSQL writes it")
    func again() async throws {
        try await Tenant.lend { tenant in
            for text in Self.texts where text != "null" {
                let value = try JSONParser.parse(text, limits: .reply)
                let written = try await tenant.login(writing: .json(value), to: "extra", .always)
                let read = try #require(written.user.properties.first { $0.name.text == "extra" }?.value)
                guard case .json(let json) = read else {
                    Issue.record("\(read)")
                    continue
                }
                #expect(json.storedBytes == value.storedBytes)
                if case .number(let number) = value, case .number(let again) = json {
                    #expect(number.double == again.double)
                }
            }
        }
    }

    @Test(
        "JSON that cannot be read is an error that names the property and not the value",
        arguments: ["[1e400]", #"{"a": 1e131071}"#, "1e-400"]
    )
    func unreadable(value: String) async throws {
        try await Tenant.lend { tenant in
            for (column, value) in [("extra", value), ("dynamic", #"{"own": \#(value)}"#)] {
                let hash = Tenant.randomHash()
                _ = try await tenant.login(writing: .json(.object([:])), to: "extra", .always, hash: hash)
                try await tenant.database.psql("update \(Tenant.users) set \(column) = '\(value)'")
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()
                }
                #expect(failure?.reason == .storedValueUnreadable)
                #expect(failure?.details["property"]?.string == column)
                #expect(failure.map { "\($0) \($0.cause ?? "")" }?.contains("000") == false)
                try await tenant.database.psql("update \(Tenant.users) set \(column) = '{}'")
                #expect(try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get() != nil)
            }
        }
    }

    @Test("an application whose settings cannot be read keeps no others from being read, and is not changed")
    func unreadableApplication() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                update federation.applications set settings = '{"x": 1e400}';
                insert into federation.applications (id, name, schema_name) values ('other', 'Other', 'other')
                """
            )
            let copy = try await tenant.store.configuration(changedAfter: 0)
            #expect(copy.changed.map(\.id.text) == ["other", "tenant"])
            #expect(copy.changed.map(\.unreadable) == [[], ["settings"]])
            let refusal = await tenant.refusal(.rename("x"))
            #expect(refusal?.reason == .storedValueUnreadable && refusal?.details["property"]?.string == "settings")
            await #expect(throws: Failure.self) { try await tenant.store.application(tenant.application.id) }
        }
    }

    @Test("a row that is too large is an error that names the column")
    func tooLarge() async throws {
        try await Tenant.lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await tenant.login(writing: .text("a"), to: "nick", .always, hash: hash)
            try await tenant.database.psql("update \(Tenant.users) set nick = repeat('a', 17000000)")
            let failure = await #expect(throws: Failure.self) {
                try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()
            }
            #expect(failure?.reason == .storedValueUnreadable && failure?.details["property"]?.string == "nick")
        }
    }
}
