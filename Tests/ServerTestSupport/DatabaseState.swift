import Encodings
import Testing
import TestSupport

extension Deployment {
    /// Expects that a closure leaves every row, table and column of the database unchanged.
    ///
    /// - Parameters:
    ///   - tables: The tables whose rows may change nevertheless.
    ///   - sourceLocation: The location of the test.
    ///   - body: The closure.
    /// - Throws: The closure's error.
    func expectNothingWritten(
        except tables: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async throws {
        let before = try await state(except: tables)
        try await body()
        let after = try await state(except: tables)
        for (old, new) in zip(before, after) {
            #expect(old == new, "the database has changed", sourceLocation: sourceLocation)
        }
        #expect(before.count == after.count, "a table or a column has come or gone", sourceLocation: sourceLocation)
    }

    private func state(except tables: Set<String>) async throws -> [String?] {
        try await database.psql("select * from state()").flatMap(\.self).filter { line in
            !tables.contains { line?.hasPrefix($0 + ": ") == true }
        }
    }

    /// The SQL of `state()`: every table with its row count and a digest of its rows, and every column.
    ///
    /// A function needs a single round trip. Of mails only the events count, since their sending progresses without
    /// requests. The login log is excluded: it is written after a login, whatever the result.
    private static let stateFunction = """
        create function state() returns setof text language plpgsql as $body$
        declare t record; line text;
        begin
            for t in select format('%I.%I', schemaname, tablename) as name,
                    case tablename when 'mails' then 'r.event' else 'r::text' end as seen from pg_tables
                where schemaname not in ('pg_catalog', 'information_schema')
                    and (schemaname, tablename) not in (
                        ('federation', 'login_log'), ('federation', 'login_counts'), ('federation', 'login_log_erasures')
                    )
                order by 1
            loop
                execute format(
                    'select %1$L || count(*) || %2$L || md5(coalesce(string_agg(%3$s, %4$L order by %3$s), %5$L)) from %6$s r',
                    t.name || ': ', ' rows ', t.seen, '|', '', t.name) into line;
                return next line;
            end loop;
            return query select concat_ws(' ', table_schema, table_name, column_name, data_type, is_nullable, column_default)
                from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')
                order by table_schema, table_name, ordinal_position;
        end $body$;
        """

    /// The SQL functions of the tests, for the template of all databases.
    static let functions = stateFunction + canariesFunction

    /// The SQL of `canaries(words)`: the columns of all tables that contain one of the words.
    ///
    /// The search ignores case and covers text and readable bytes.
    private static let canariesFunction = """
        create function canaries(variadic words text[]) returns setof text language plpgsql as $body$
        declare c record; found boolean;
        begin
            for c in select table_schema, table_name, column_name, data_type from information_schema.columns
                join information_schema.tables using (table_schema, table_name)
                where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'
            loop
                execute format(
                    case c.data_type when 'bytea' then 'select exists (select from %I.%I where encode(%I, ''escape'') ilike any ($1))'
                        else 'select exists (select from %I.%I where %I::text ilike any ($1))' end,
                    c.table_schema, c.table_name, c.column_name)
                    into found using (select array_agg('%' || word || '%') from unnest(words) word);
                if found then return next concat_ws('.', c.table_schema, c.table_name, c.column_name); end if;
            end loop;
        end $body$;
        """

    /// Returns a user's row as a JSON object of its columns; `nil` without such a row.
    func row(of objectID: String, in schema: String = "demo") async throws -> JSONObject? {
        try await rows("select to_jsonb(u) from \(schema).users u where object_id = '\(objectID)'").first
    }

    /// Returns the rows of a query that selects one JSON object per row.
    func rows(_ sql: String) async throws -> [JSONObject] {
        try await database.psql(sql).compactMap { row in row.first.flatMap(\.self).flatMap(JSON.object) }
    }

    /// Returns the single value of a query as PostgreSQL prints it.
    func value(_ sql: String) async throws -> String? {
        try await database.psql(sql).first?.first.flatMap(\.self)
    }
}
