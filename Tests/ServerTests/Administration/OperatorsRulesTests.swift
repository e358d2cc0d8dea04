import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The operator's own rules on the users table",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING"}, "score": {"type": "INT"}, "club": {"type": "INT"}}"#,
            mapping: """
                [{"from": "email", "to": "email"}, {"from": "name", "to": "nick"}, {"from": "age_range.min", "to": "score"},
                 {"from": "age_range.max", "to": "club"}]
                """
        ),
        sql: """
            create unique index users_one_email on demo.users (email);
            alter table demo.users add constraint nick_is_short check (length(nick) <= 10);
            create table demo.clubs (number bigint primary key);
            alter table demo.users add foreign key (club) references demo.clubs;
            create function demo.guard() returns trigger language plpgsql as $$
                begin if new.nick = 'forbidden' then raise exception 'not %', new.nick; end if; return new; end $$;
            create trigger guard before insert or update on demo.users for each row execute function demo.guard();
            """
    )
)
struct OperatorsRulesTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let permissions =
        #""permissions": {"public_profile": "granted", "email": "granted", "user_age_range": "granted"}"#

    @Test("what a unique index refuses names the property and not the value, at the first login and at a later one")
    func uniqueIndex() async throws {
        let profile = #"{"email": "taken.canary@example.com", "name": "Ann"}"#
        _ = try await deployment.loggedIn(try await deployment.newcomer(profile))
        let second = try await deployment.newcomer(profile)
        try await deployment.expectNothingWritten {
            try expectViolation(try await deployment.login(second), of: "email", value: "taken")
        }
        try await deployment.simulator.patch(person: second.key, #"{"email": "free.canary@example.com"}"#)
        _ = try await deployment.loggedIn(second)
        try await deployment.simulator.patch(person: second.key, #"{"email": "taken.canary@example.com"}"#)
        try await deployment.expectNothingWritten {
            try expectViolation(try await deployment.login(second), of: "email", value: "taken")
        }
    }

    @Test("what a check, a foreign key or a trigger refuses is a constraint violation, too")
    func otherRules() async throws {
        let long = try await deployment.newcomer(#"{"name": "Anneliese-Marie"}"#)
        let clubless = try await deployment.newcomer(
            #"{"name": "Bo", "age_range": {"min": 21, "max": 98765}, \#(Self.permissions)}"#
        )
        let forbidden = try await deployment.newcomer(#"{"name": "forbidden"}"#)
        try await deployment.expectNothingWritten {
            try expectViolation(try await deployment.login(long), of: "nick", value: "Anneliese")
            try expectViolation(try await deployment.login(clubless), of: "club", value: "98765")
            try expectViolation(try await deployment.login(forbidden), of: nil, value: "forbidden")
        }
    }

    private func expectViolation(
        _ reply: HTTPReply,
        of property: String?,
        value: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let data = try expectProblem(reply, "constraint_violation", sourceLocation: sourceLocation)
        #expect(data["property"]?.string == property, sourceLocation: sourceLocation)
        if let property { #expect(reply.text.contains(property), sourceLocation: sourceLocation) }
        #expect(!reply.text.contains(value), sourceLocation: sourceLocation)
        #expect(!reply.text.lowercased().contains(Canary.mark), sourceLocation: sourceLocation)
    }

    @Test(
        "a disabled user logs in no more and their sessions are over; nothing is written until they are enabled again"
    )
    func disabledUser() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(session.objectID)'"
        )
        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anna"}"#)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(ann), "account_disabled")
            try expectProblem(
                try await deployment.get("users/\(session.objectID)", token: session.token),
                "account_disabled"
            )
            let check = try await deployment.get("users/isvalidusertoken/\(session.token)")
            #expect(check.text == "false")
        }
        try await deployment.database.psql(
            "update demo.users set user_status = 'ENABLED' where object_id = '\(session.objectID)'"
        )
        #expect(try await deployment.loggedIn(ann).user["nick"]?.string == "Anna")
    }

    @Test("a deleted user who comes back is a new one, and the old sessions are gone")
    func deletedUser() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let old = try await deployment.loggedIn(ann)
        try await deployment.database.psql("delete from demo.users where object_id = '\(old.objectID)'")
        try expectProblem(try await deployment.get("users/\(old.objectID)", token: old.token), "session_invalid")
        let new = try await deployment.loggedIn(ann)
        #expect(new.created)
        #expect(new.objectID != old.objectID)
    }
}
