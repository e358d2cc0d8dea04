import Domain
import Encodings
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Users in a table that was there before")
struct AdoptionTests {
    private func property(_ name: String, of tenant: Tenant) throws -> Property {
        try #require(tenant.application.properties.first { $0.name.text == name })
    }

    @Test("rows are users, with an object id each, and the table's columns under the names of properties")
    func rows() async throws {
        try await Tenant.lendAdopted { tenant in
            let ids = try await tenant.database.psql("select count(distinct object_id), count(*) from \(Tenant.users)")
            #expect(ids == [["1000", "1000"]])
            let filter = UserFilter.comparison(
                .property(try property("email", of: tenant)),
                .equal,
                .property(.text("P7@example.com"))
            )
            var query = UserQuery(limit: 10)
            query.filter = filter
            let found = try await tenant.store.users(matching: query, of: tenant.application).value
            #expect(found.count == 1)
            let user = try #require(found.first)
            #expect(user.value("nick") == .text("p7") && user.value("points") == .integer(7))
            #expect(user.created == 1_577_837_220_000 && user.status == .enabled && user.locale == nil)
            #expect(try await tenant.store.userCount(matching: nil, of: tenant.application).value == 1000)
        }
    }

    @Test("logins create rows and write them, and the table's defaults and the service's hold")
    func logins() async throws {
        try await Tenant.lendAdopted { tenant in
            let created = try await tenant.login("1", writing: .text("a"), to: "nick", .untilEdited)
            #expect(created.created && created.user.value("nick") == .text("a"))
            let again = try await tenant.login("1", writing: .text("b"), to: "nick", .untilEdited)
            #expect(!again.created && again.user.objectID == created.user.objectID)
            #expect(again.user.value("nick") == .text("b") && again.user.updated != nil)
            let row = try await tenant.database.psql(
                "select alias, note, locale, user_status, object_id, id > 1000 from \(Tenant.adopted) order by id desc limit 1"
            )
            let id = created.user.objectID.description.lowercased()
            #expect(row == [["b", "kept", nil, "ENABLED", id, "t"]])
            let guest = try await tenant.store.makeGuest(
                ObjectID(UUID()),
                tokenHash: Tenant.randomHash(),
                of: tenant.application
            ).get()
            #expect(guest.user.status == .guest)
        }
    }

    @Test("a row that goes takes its identities and sessions along, whoever deletes it")
    func deletion() async throws {
        try await Tenant.lendAdopted { tenant in
            _ = try await tenant.login("1", writing: .text("a"), to: "nick", .always)
            try await tenant.database.psql("delete from \(Tenant.adopted) where alias = 'a'")
            #expect(try await tenant.count("identities") == "0")
            #expect(try await tenant.count("sessions") == "0")
        }
    }

    @Test("what a rule of the table refuses names the property, not the column")
    func refusals() async throws {
        try await Tenant.lendAdopted { tenant in
            func refusal(_ name: String, _ value: PropertyValue) async -> Failure? {
                await #expect(throws: Failure.self) { try await tenant.login("2", writing: value, to: name, .always) }
            }
            let negative = await refusal("points", .integer(-1))
            #expect(negative?.reason == .constraintViolation)
            #expect(negative?.details["property"]?.string == "points")
            let taken = await refusal("email", .text("p1@example.com"))
            #expect(taken?.details["property"]?.string == "email" && taken?.message.contains("email") == true)
            #expect(await refusal("nick", .text(String(repeating: "x", count: 101)))?.reason == .valueNotConvertible)
            try await tenant.database.psql("alter table \(Tenant.adopted) alter column \"full Name\" set not null")
            let write = RegistrationWrite(
                password: StoredPassword(
                    objectID: ObjectID(UUID()),
                    login: "ann@example.com",
                    hash: EncryptedSecret(bytes: [1], keyID: "key")
                ),
                status: .enabled,
                given: GivenProperties()
            )
            let missing = await #expect(throws: Failure.self) {
                try await tenant.store.register(write, of: tenant.application).get()
            }
            #expect(missing?.reason == .propertyMissing && missing?.details["property"]?.string == "name")
            #expect(try await tenant.count("users") == "1000")
        }
    }

    @Test("properties are added, taken over, renamed, widened, required and removed, and the table keeps its own")
    func properties() async throws {
        try await Tenant.lendAdopted { tenant in
            let before = try await tenant.database.psql(Tenant.former)
            let shoe = Property(name: Tenant.named("shoe"), type: .int)
            try await tenant.change(.declareProperty(shoe))
            let shod = tenant.with(shoe)
            #expect(
                try await shod.login("1", writing: .integer(42), to: "shoe", .untilEdited).user.value("shoe")
                    == .integer(42)
            )
            try await tenant.change(.widenProperty(shoe.name, to: .string))
            try await tenant.change(.renameProperty(from: shoe.name, to: Tenant.named("boot")))
            let booted = tenant.with(Property(name: Tenant.named("boot"), type: .string))
            #expect(
                try await booted.login("1", writing: .text("43"), to: "boot", .untilEdited).user.value("boot")
                    == .text("43"),
                "it is as the mapping wrote it"
            )
            try await tenant.change(.removeProperty(Tenant.named("boot")))
            #expect(try await columns(tenant).contains("shoe") == false, "it was added for the property")

            // A column of the table itself becomes the property, and stays when the property is removed.
            let note = Property(name: Tenant.named("note"), type: .string, required: true)
            try await tenant.change(.declareProperty(note))
            let stored = try await tenant.database.psql("select distinct note from \(Tenant.users)")
            #expect(stored.contains(["mine"]))
            try await tenant.change(.removeProperty(note.name))
            try await tenant.change(.removeProperty(Tenant.named("nick")))
            #expect(try await columns(tenant).isSuperset(of: ["note", "alias"]))

            let clash = await tenant.refusal(.declareProperty(Property(name: Tenant.named("mail"), type: .string)))
            #expect(clash?.reason == .conflict, "it is the column of another property")
            let misfit = await tenant.refusal(.declareProperty(Property(name: Tenant.named("locale"), type: .string)))
            #expect(misfit?.reason == .conflict)

            try await tenant.database.psql("delete from \(Tenant.users) where name is null")
            try await tenant.change(.changeProperty(.name, required: true, clientMappable: false))
            let live = try await tenant.store.liveColumns(ofSchema: tenant.application.schema)
            #expect(live.first { $0.name == "name" }?.notNull == true)
            try await tenant.change(
                .declareProperty(Property(name: .email, type: .string, required: false, clientMappable: true))
            )
            try await tenant.change(.changeProperty(.name, required: false, clientMappable: false))
            #expect(try await tenant.database.psql(Tenant.former) == before)
        }
    }

    private func columns(_ tenant: Tenant) async throws -> Set<String?> {
        let rows = try await tenant.database.psql(
            """
            select attname from pg_attribute where attrelid = '\(Tenant.quotedAdopted)'::regclass and not attisdropped
            """
        )
        return Set(rows.map { $0[0] })
    }

    @Test("a property whose column nobody would fill any more stays")
    func neededColumn() async throws {
        try await Tenant.lendAdopted { tenant in
            try await tenant.database.psql("alter table \(Tenant.adopted) alter column alias set not null")
            let failure = await tenant.refusal(.removeProperty(Tenant.named("nick")))
            #expect(failure?.reason == .conflict && failure?.message.contains("alias") == true)
        }
    }

    @Test("what somebody was granted on the users table holds on the view, and on each that takes its place")
    func grants() async throws {
        try await Tenant.lend { tenant in
            let role = "adoption_\(UInt32.random(in: .min ... .max))"
            try await tenant.database.psql(
                """
                create role \(role);
                grant usage on schema \(Tenant.schema) to \(role);
                grant select, update on \(Tenant.users) to \(role);
                grant insert (email) on \(Tenant.users) to \(role) with grant option
                """
            )
            let asked = """
                select has_table_privilege('\(role)', '\(Tenant.users)', 'select, update'),
                    has_table_privilege('\(role)', '\(Tenant.users)', 'delete'),
                    has_column_privilege('\(role)', '\(Tenant.users)', 'email', 'insert with grant option'),
                    has_column_privilege('\(role)', '\(Tenant.users)', 'name', 'insert')
                """
            let outcome: Result<Void, any Error>
            do {
                try await tenant.database.psql(Tenant.table)
                try await tenant.adopt()
                #expect(try await tenant.database.psql(asked) == [["t", "f", "t", "f"]])
                try await tenant.database.psql("grant insert (nick) on \(Tenant.users) to \(role)")
                try await tenant.change(.removeProperty(Tenant.named("nick")))
                #expect(try await tenant.database.psql(asked) == [["t", "f", "t", "f"]])
                outcome = .success(())
            } catch { outcome = .failure(error) }
            try await tenant.database.psql("drop owned by \(role); drop role \(role)")
            try outcome.get()
        }
    }

    @Test("a migration leaves it as it is, and removing the application leaves the table")
    func migration() async throws {
        try await Tenant.lendAdopted { tenant in
            let relations = "'\(Tenant.quotedAdopted)'::regclass, '\(Tenant.users)'::regclass"
            let shape = """
                select concat(attname, atttypid::regtype, attnotnull) from pg_attribute where attrelid in (\(relations))
                union all select concat(conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint
                    where '\(Tenant.quotedAdopted)'::regclass in (conrelid, confrelid)
                union all select pg_get_indexdef(indexrelid) from pg_index where indrelid in (\(relations))
                union all select pg_get_viewdef('\(Tenant.users)'::regclass) order by 1
                """
            let before = try await tenant.database.psql(shape)
            try await tenant.store.migrate()
            try await tenant.store.migrate()
            #expect(try await tenant.database.psql(shape) == before)
            _ = try await tenant.login("1", writing: .text("a"), to: "nick", .always)
            try await tenant.change(.delete)
            #expect(try await tenant.database.psql("select count(*) from \(Tenant.adopted)") == [["1001"]])
            #expect(try await tenant.database.psql("select count(*) from federation.adopted_columns") == [["0"]])
        }
    }

    @Test("users that the application got meanwhile stop it, and so does a change of the application")
    func overtaken() async throws {
        for change in [
            "insert into \(Tenant.users) (object_id) values (gen_random_uuid())",
            "update federation.applications set revision = revision + 1",
        ] {
            try await Tenant.lend { tenant in
                try await tenant.database.psql(Tenant.table)
                try await tenant.adopt(interrupting: change)
                let kind = "select relkind from pg_class where oid = '\(Tenant.users)'::regclass"
                #expect(try await tenant.database.psql(kind) == [["r"]])
                guard change.hasPrefix("update") else { return }
                // The completed steps remain, and the next attempt resumes there.
                try await tenant.adopt()
                #expect(try await tenant.database.psql(kind) == [["v"]])
                #expect(try await columns(tenant).contains("federation_object_id") == false)
            }
        }
    }
}
