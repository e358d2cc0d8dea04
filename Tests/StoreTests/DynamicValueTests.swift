import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("Declaring a property that clients brought in")
struct DynamicValueTests {
    /// The type, a value in `users.dynamic`, and its text in the column; nil for a value that does not fit.
    static let forms: [(type: PropertyType, json: String, result: String?)] = [
        (.string, "\"a\"", "a"), (.string, "\"\"", ""), (.text, "1.50", "1.50"), (.text, "true", "true"),
        (.string, "[1]", nil), (.text, "{}", nil),
        (.int, "42", "42"), (.int, "42.0", "42"), (.int, "4.2e1", "42"), (.int, "\"-42\"", "-42"),
        (.int, "9223372036854775807", "9223372036854775807"), (.int, "9223372036854775808", nil),
        (.int, "42.5", nil), (.int, "\"042\"", nil), (.int, "\" 42\"", nil), (.int, "true", nil), (.int, "\"\"", nil),
        (.double, "0.1", "0.1"), (.double, "\"2.5e1\"", "25"), (.double, "\"1e999\"", nil), (.double, "\"NaN\"", nil),
        (.double, "\"Infinity\"", nil), (.double, "\"1_0\"", nil), (.double, "false", nil),
        (.boolean, "true", "true"), (.boolean, "\"false\"", "false"), (.boolean, "\"yes\"", nil), (.boolean, "1", nil),
        (.date, "\"05/06/1990\"", "1990-05-06"), (.date, "\"1990-05-06\"", "1990-05-06"), (.date, "\"05/06\"", nil),
        (.date, "\"1990\"", nil), (.date, "\"02/30/1990\"", nil), (.date, "\"today\"", nil),
        (.date, "\"infinity\"", nil), (.date, "5", nil),
        (.dateTime, "\"2017-05-06T07:08:09+0000\"", "2017-05-06 07:08:09+00"),
        (.dateTime, "\"2017-05-06T09:08:09.1239+02:00\"", "2017-05-06 07:08:09.123+00"),
        (.dateTime, "1494054489", "2017-05-06 07:08:09+00"), (.dateTime, "\"2017-05-06T07:08:09\"", nil),
        (.dateTime, "\"2017-05-06\"", nil), (.dateTime, "\"now\"", nil), (.dateTime, "1.5", nil),
        (.dateTime, "99999999999999999999", nil),
        (.json, "[1, null]", "[1, null]"), (.json, "\"a\"", "\"a\""),
    ]

    @Test("its values move as far as they fit its type; one that does not leaves everything as it was")
    func values() async throws {
        try await Tenant.lend { tenant in
            for (offset, form) in Self.forms.enumerated() {
                let name = Tenant.named("p\(offset)")
                try await tenant.store.registerDynamicNames([name], of: tenant.application.id)
                try await tenant.database.psql(
                    """
                    delete from \(Tenant.users);
                    insert into \(Tenant.users) (object_id, email, dynamic) values
                        (gen_random_uuid(), 'a', '{"\(name)": \(form.json), "other": 1}'),
                        (gen_random_uuid(), 'b', '{"\(name)": null}'), (gen_random_uuid(), 'c', '{"other": 2}')
                    """
                )
                let before = try await tenant.state()
                let declare = ConfigurationChange.declareProperty(Property(name: name, type: form.type))
                guard let result = form.result else {
                    let failure = await tenant.refusal(declare)
                    #expect(failure?.reason == .valueNotConvertible, "\(form)")
                    #expect(failure?.details["property"] == .string(name.text))
                    #expect(try await tenant.state() == before, "\(form)")
                    continue
                }
                let changed = try await tenant.change(declare)
                #expect(changed?.dynamicNames.contains(name) == false)
                let read = try await tenant.database.psql(
                    "set timezone = 'UTC'; select \(name)::text, dynamic from \(Tenant.users) order by email"
                )
                #expect(read == [[result, #"{"other": 1}"#], [nil, "{}"], [nil, #"{"other": 2}"#]], "\(form)")
            }
        }
    }

    @Test("a value that does not fit is not repeated")
    func canary() async throws {
        try await Tenant.lend { tenant in
            let name = Tenant.named("brought")
            for (type, value) in [(PropertyType.int, "canary"), (.int, "99999999999999"), (.date, "13/13/1999")] {
                try await tenant.store.registerDynamicNames([name], of: tenant.application.id)
                try await tenant.database.psql(
                    """
                    delete from \(Tenant.users);
                    insert into \(Tenant.users) (object_id, dynamic)
                    values (gen_random_uuid(), '{"brought": "\(value)\(type == .int ? "99999999999" : "")"}')
                    """
                )
                let failure = await tenant.refusal(.declareProperty(Property(name: name, type: type)))
                #expect(failure?.reason == .valueNotConvertible)
                #expect("\(failure?.message ?? "") \(failure?.cause ?? "")".contains(value) == false)
            }
        }
    }

    @Test("values move into a column that the operator made, and may be required at once")
    func existingColumn() async throws {
        try await Tenant.lend { tenant in
            let name = Tenant.named("brought")
            try await tenant.store.registerDynamicNames([name], of: tenant.application.id)
            try await tenant.database.psql(
                """
                alter table \(Tenant.users) add column brought bigint check (brought < 100);
                insert into \(Tenant.users) (object_id, dynamic) values (gen_random_uuid(), '{"brought": 500}')
                """
            )
            let before = try await tenant.state()
            let declare = ConfigurationChange.declareProperty(Property(name: name, type: .int, required: true))
            let failure = await tenant.refusal(declare)
            #expect(failure?.reason == .constraintViolation)
            #expect(failure?.message.contains("500") == false)
            #expect(try await tenant.state() == before)
            try await tenant.database.psql("update \(Tenant.users) set dynamic = '{\"brought\": 50}'")
            try await tenant.change(declare)
            #expect(try await tenant.database.psql("select brought from \(Tenant.users)") == [["50"]])
        }
    }

    @Test("a name that has just been declared is not registered once more")
    func declaredMeanwhile() async throws {
        try await Tenant.lend { tenant in
            let revision = try await tenant.store.configurationState().revision
            try await tenant.store.registerDynamicNames([Tenant.named("nick")], of: tenant.application.id)
            #expect(try await tenant.store.application(tenant.application.id)?.dynamicNames == [])
            #expect(try await tenant.store.configurationState().revision == revision)
            try await tenant.store.registerDynamicNames([Tenant.named("new")], of: tenant.application.id)
            let changed = try await tenant.store.configuration(changedAfter: revision)
            #expect(changed.revision == revision + 1)
            #expect(changed.changed.map(\.dynamicNames) == [[Tenant.named("new")]])
            #expect(changed.changed.map(\.revision) == [revision + 1])
        }
    }
}
