import Domain
import Store
import Testing
import TestSupport

/// A table that existed before the application and that the application adopts.
///
/// The table has names that need quoting, types narrower than those of properties, a constraint of its own, and a
/// column that the service never sees.
extension Tenant {
    static let adopted = "\"old\"\"y z\".\"cus'tomers\""

    /// The table's name, escaped for a literal of SQL.
    static let quotedAdopted = adopted.replacing("'", with: "''")

    static let table = """
        create schema "old""y z";
        create table \(adopted) (
            id integer generated always as identity primary key,
            mail varchar(200) unique,
            "full Name" text,
            alias varchar(100),
            score bigint constraint no_negative_score check (score >= 0),
            locale integer,
            birthday date,
            note text not null default 'kept',
            made timestamptz not null default now()
        );
        insert into \(adopted) (mail, "full Name", alias, score, locale, note, made)
            select format('p%s@example.com', n), format('Person %s', n), format('p%s', n), n, n, 'mine',
                timestamptz '2020-01-01 00:00+00' + make_interval(mins => n)
            from generate_series(1, 1000) n;
        """

    /// A query of the table's contents before the adoption.
    static let former = """
        select id, mail, "full Name", alias, score, locale, birthday, note, made from \(adopted)
        where id <= 1000 order by id
        """

    /// Lends a database with one application that has adopted the table.
    static func lendAdopted(_ body: (Tenant) async throws -> Void) async throws {
        try await lend { tenant in
            try await tenant.database.psql(table)
            let before = try await tenant.database.psql(former)
            try await tenant.adopt()
            #expect(try await tenant.database.psql(former) == before)
            try await body(tenant)
        }
    }

    /// Has the application adopt the table.
    ///
    /// With `change`, another session runs that SQL before the last step, and the last step must fail.
    func adopt(interrupting change: String? = nil) async throws {
        let stored = try #require(try await store.application(application.id))
        let table = try #require(try await store.existingTable(Self.adopted))
        let own = ["email": "mail", "name": "full Name", "nick": "alias", "points": "score", "birthday": "birthday"]
        let system = Adoption.systemColumns.map { name, definition in
            guard name != "created" else { return Adoption.Column(name, is: "made") }
            let column = name == "locale" ? "federation_locale" : name
            return Adoption.Column(name, is: column, adding: definition)
        }
        let properties = stored.properties.map { property in
            let name = property.name.text
            guard let column = own[name] else {
                return Adoption.Column(name, is: name, adding: .property(property.type))
            }
            return Adoption.Column(name, is: column)
        }
        let adoption = Adoption(
            application: stored,
            table: table,
            columns: system + properties,
            declared: [],
            mayRewrite: false,
            identities: nil
        )
        let steps = try await store.steps(of: adoption, by: Self.actor)
        let last = try #require(steps.last)
        for step in steps.dropLast() { try await store.perform(step) }
        guard let change else { return try await store.perform(last) }
        try await database.psql(change)
        let failure = await #expect(throws: Failure.self) { try await store.perform(last) }
        #expect(failure?.reason == .conflict)
    }
}
