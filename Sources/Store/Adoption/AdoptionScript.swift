import Domain
import Encodings

/// The SQL of an adoption.
///
/// A statement that reads or writes the whole table does not block other sessions. A statement that locks the table
/// takes only an instant, unless it rewrites the table. It waits for the lock for one second at most, since other
/// sessions queue behind a statement that waits.
struct AdoptionScript {
    let adoption: Adoption
    let actor: ChangeAuthor
    /// The foreign keys that refer to the application's users table.
    ///
    /// The adoption makes them refer to the adopted table.
    let references: [Reference]

    struct Reference {
        let table: String
        let constraint: String
        let column: String
        /// Whether the referring table is in the application's own schema.
        let isOurs: Bool
    }

    var steps: [AdoptionStep] {
        [columns] + filling + indexes + [statistics, exchange]
            + (adoption.identities == nil ? [] : [validation])
    }

    private var table: String { adoption.table.sql }
    private var schema: String { adoption.application.schema }
    private var application: String { literal(adoption.application.id.text) }
    private var added: [Adoption.Column] { adoption.columns.filter { $0.definition != nil } }
    private var objectID: String { quoted(adoption.column("object_id")) }

    // MARK: Columns

    private var columns: AdoptionStep {
        let missing = added.filter { adoption.table.column($0.column) == nil }
        var actions = missing.flatMap(action)
        if missing.contains(where: { $0.name == "user_status" }) {
            let statuses = ["ENABLED", "DISABLED", "EMAIL_CONFIRMATION_PENDING", "GUEST"].map { literal($0) }
            actions.append(
                """
                add constraint federation_user_status check (\(quoted(adoption.column("user_status"))) in (\(statuses.joined(separator: ", ")))) not valid
                """
            )
        }
        if missing.contains(where: { $0.name == "dynamic" }) {
            actions.append(
                """
                add constraint dynamic_is_bounded check (octet_length(\(quoted(adoption.column("dynamic")))::text) <= 262144) not valid
                """
            )
        }
        return AdoptionStep(
            comment: adoption.rewrites
                ? "Add the columns that \(table) lacks. The table is rewritten; everybody waits for that."
                : "Add the columns that \(table) lacks: an instant, whatever its size.",
            sql: transaction(
                [
                    """
                    insert into federation.adopted_tables (application_id, relation)
                    values (\(application), \(literal(table))) on conflict do nothing
                    """,
                    actions.isEmpty
                        ? nil : "alter table \(table)\n    " + actions.joined(separator: ",\n    "),
                    rows(of: added, orElse: "on conflict do nothing"),
                ]
            )
        )
    }

    private func action(_ column: Adoption.Column) -> [String] {
        let name = quoted(column.column)
        switch column.definition {
        case .objectID where adoption.rewrites: return ["add column \(name) uuid not null default gen_random_uuid()"]
        case .objectID: return ["add column \(name) uuid", "alter column \(name) set default gen_random_uuid()"]
        case .system(let definition): return ["add column \(name) \(definition)"]
        case .property(let type): return ["add column \(name) \(type.sqlType)"]
        case nil: return []
        }
    }

    private func rows(of columns: [Adoption.Column], orElse conflict: String = "") -> String? {
        guard !columns.isEmpty else { return nil }
        let values = columns.map { column in
            let names = [column.name, column.column].map { literal($0) }.joined(separator: ", ")
            return "(\(application), \(names), \(column.definition != nil))"
        }
        return """
            insert into federation.adopted_columns (application_id, name, column_name, added) values
                \(values.joined(separator: ",\n    ")) \(conflict)
            """
    }

    // MARK: Object ids

    private var filling: [AdoptionStep] {
        guard adoption.updatesRows else { return [] }
        let constraint = "federation_object_id_is_there"
        return [
            AdoptionStep(
                comment: "Give every row an object id, some pages at a time. Nobody waits but for single rows.",
                sql: filler
            ),
            AdoptionStep(
                comment: "From here on no row is without an object id: an instant.",
                sql: transaction([
                    """
                    alter table \(table) drop constraint if exists \(constraint),
                        add constraint \(constraint) check (\(objectID) is not null) not valid
                    """
                ])
            ),
            AdoptionStep(
                comment: "See that none is: the table is read once, and nobody waits.",
                sql: "alter table \(table) validate constraint \(constraint)"
            ),
            AdoptionStep(
                comment: "The column is NOT NULL, which the constraint has shown: an instant.",
                sql: transaction([
                    "alter table \(table) alter column \(objectID) set not null, drop constraint \(constraint)"
                ])
            ),
        ]
    }

    /// The SQL that gives an object id to every row of the table, some disk pages at a time.
    ///
    /// Meanwhile other transactions may move rows to pages that are already done. A final loop therefore looks for
    /// remaining rows.
    private var filler: String {
        """
        do $fill$
        declare
            pages constant bigint := 500;
            page bigint := 0;
            filled bigint;
        begin
            while page * current_setting('block_size')::bigint < pg_relation_size(\(literal(table))) loop
                update \(table) set \(objectID) = gen_random_uuid()
                where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + pages)::tid
                    and \(objectID) is null;
                commit;
                page := page + pages;
            end loop;
            loop
                update \(table) set \(objectID) = gen_random_uuid() where ctid = any (array(
                    select ctid from \(table) where \(objectID) is null limit 10000
                ));
                get diagnostics filled = row_count;
                commit;
                exit when filled = 0;
            end loop;
        end
        $fill$
        """
    }

    // MARK: Indexes

    private var indexes: [AdoptionStep] {
        let email = quoted(adoption.column("email"))
        let status = quoted(adoption.column("user_status"))
        let unique =
            adoption.needsObjectIDs
            ? index("object_id", "unique ", "(\(objectID))", "Object ids are found, and none is there twice") : []
        return unique + index("email", "", "(lower(\(email)))", "People are found by their address")
            + index("guests", "", "(\(objectID)) where \(status) = 'GUEST'", "Guests are found among all users")
    }

    private func index(_ name: String, _ kind: String, _ definition: String, _ purpose: String) -> [AdoptionStep] {
        let suffix = "_federation_\(name)"
        var start = adoption.table.name
        while start.utf8.count + suffix.utf8.count > 63 { start.removeLast() }
        let index = start + suffix
        guard !adoption.table.indexes.contains(index) else { return [] }
        let making = AdoptionStep(
            comment: "\(purpose): the table is read twice, and nobody waits.",
            sql: "create \(kind)index concurrently \(quoted(index)) on \(table) \(definition)"
        )
        guard adoption.table.brokenIndexes.contains(index) else { return [making] }
        let removal = AdoptionStep(
            comment: "An index that was begun before is made anew.",
            sql: "drop index concurrently \(quoted(adoption.table.schema)).\(quoted(index))"
        )
        return [removal, making]
    }

    private var statistics: AdoptionStep {
        AdoptionStep(
            comment: "PostgreSQL learns what the new columns hold, to plan by it: nobody waits.",
            sql: "analyze \(table)"
        )
    }

    // MARK: The exchange

    private var exchange: AdoptionStep {
        AdoptionStep(
            comment: """
                The empty table \(quoted(schema)).users becomes a view of \(table). Logins to the application wait for this; \
                writers of the table wait an instant.
                """,
            sql: transaction(
                // The lock order of logins and changes: the application's row, its users, then the referring tables.
                [guardian, "lock table \(quoted(schema)).users in access exclusive mode"]
                    + references.map { "alter table \($0.table) drop constraint \($0.constraint)" }
                    + declarations
                    + [
                        "delete from federation.adopted_columns where application_id = \(application)",
                        rows(of: adoption.columns),
                        // The function is in schema.sql. It creates the view from adopted_columns.
                        "select federation.create_users_view(\(literal(schema)))",
                        identities,
                    ]
                    + references.map { reference in
                        """
                        alter table \(reference.table) add constraint \(reference.constraint)
                            foreign key (\(reference.column)) references \(table) (\(objectID)) on delete cascade\(
                                adoption.identities == nil ? "" : " not valid")
                        """
                    }
                    + [audit, revision]
            )
        )
    }

    /// The SQL that locks the application's row, and fails if the application has changed since the adoption was
    /// planned.
    ///
    /// Every change of an application locks that row first.
    private var guardian: String {
        """
        do $guard$
        begin
            perform from federation.applications
            where id = \(application) and revision = \(adoption.application.revision) for update;
            if not found then
                raise exception 'the application has been changed since this was planned' using errcode = '40001';
            end if;
        end
        $guard$
        """
    }

    private var declarations: [String] {
        adoption.declared.map { property in
            """
            insert into federation.properties (application_id, name, position, type, required, client_mappable)
            select \(application), \(literal(property.name)), coalesce(max(position), -1) + 1, \(literal(property.type.rawValue)), \
            \(property.required), \(property.clientMappable)
            from federation.properties where application_id = \(application)
            """
        }
    }

    private var identities: String? {
        guard let identities = adoption.identities else { return nil }
        let column = quoted(identities.column)
        return """
            insert into \(quoted(schema)).identities (provider, provider_app, subject, object_id)
            select \(literal(identities.provider.text)), \(literal(identities.app.text)), \(column)::text, \(objectID)
            from \(table) where \(column)::text ~ '^[1-9][0-9]{0,63}$' on conflict do nothing
            """
    }

    private var audit: String {
        let columns = adoption.columns.map { JSONObject.Member($0.name, .string($0.column)) }
        let details: JSONObject = [
            "to": .object(["table": .string(table), "columns": .object(JSONObject(columns))])
        ]
        return """
            insert into federation.audit_log (actor, source, application_id, action, details)
            values (\(literal(actor.name)), \(literal(actor.source)), \(application), 'application.adopt', \(literal(JSONValue.object(details).text)))
            """
    }

    /// The SQL that raises the configuration's revision, which notifies the running instances.
    private var revision: String {
        """
        with raised as (
            update federation.configuration set revision = revision + 1 returning revision
        )
        update federation.applications a set revision = raised.revision, updated = now()
        from raised where a.id = \(application)
        """
    }

    private var validation: AdoptionStep {
        let validations = references.map { "alter table \($0.table) validate constraint \($0.constraint)" }
        return AdoptionStep(
            comment: "See that every identity has its user: nobody waits.",
            sql: transaction(validations)
        )
    }

    private func transaction(_ statements: [String?]) -> String {
        (["begin", "set local lock_timeout = '1s'"] + statements.compactMap(\.self) + ["commit"])
            .joined(separator: ";\n")
    }
}
