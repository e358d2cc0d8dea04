import Domain
import Encodings
import Testing

@Suite("What a merge makes of two users")
struct MergePlanTests {
    private static let phone = PropertyName("phone") ?? .name

    private static func user(
        _ email: String? = nil,
        verified: Bool = false,
        phone: String? = nil,
        status: UserStatus = .enabled,
        dynamic: JSONObject = [:]
    ) -> User {
        User(
            objectID: RandomSource.system.objectID(),
            created: 0,
            updated: nil,
            lastLogin: nil,
            status: status,
            socialAccount: nil,
            locale: nil,
            emailVerified: verified,
            properties: [
                (.email, email.map(PropertyValue.text), .owner), (Self.phone, phone.map(PropertyValue.text), .owner),
            ],
            dynamic: dynamic
        )
    }

    private static func plan(
        _ survivor: User,
        _ merged: User,
        passwords: (Bool, Bool) = (false, false),
        _ rules: MergeRules = MergeRules()
    ) throws -> MergePlan {
        try MergePlan(
            of: MergeSide(user: survivor, hasPassword: passwords.0),
            and: MergeSide(user: merged, hasPassword: passwords.1),
            by: rules,
            identity: .email
        )
    }

    @Test(
        "each rule, for a survivor with and without a value and another user with and without one",
        arguments: [
            (MergeRule.keep, "a", "b", false), (.keep, nil, "b", false), (.keep, "", "b", false),
            (.fill, "a", "b", false), (.fill, nil, "b", true), (.fill, "", "b", true), (.fill, nil, nil, false),
            (.take, "a", "b", true), (.take, "a", nil, false), (.take, "a", "", false), (.take, nil, "b", true),
            (.take, "a", "a", false), (.sync, "a", "b", false), (.sync, nil, "b", true),
        ] as [(MergeRule, String?, String?, Bool)]
    )
    func rules(_ rule: MergeRule, _ own: String?, _ other: String?, _ isTaken: Bool) throws {
        let (survivor, merged) = (Self.user(phone: own), Self.user(phone: other))
        let general = try Self.plan(survivor, merged, MergeRules(general: rule))
        #expect(general.taken.contains(Self.phone) == isTaken)
        let single = try Self.plan(survivor, merged, MergeRules(general: .keep, properties: [("phone", rule)]))
        #expect(single.taken.contains(Self.phone) == isTaken, "a rule of its own comes first")
        let shown = general.properties(of: survivor, and: merged).first { $0.name == "phone" }
        #expect((shown != nil) == (own != nil || other != nil) && (shown?.isTaken ?? false) == isTaken)
    }

    @Test("undeclared properties follow the same rules, and none is lost")
    func undeclared() throws {
        let own: JSONObject = ["a": .string("1"), "b": .string(""), "e": .null]
        let other: JSONObject = ["a": .string("2"), "b": .string("2"), "c": .string("2"), "d": .null, "e": .integer(2)]
        func merged(_ rule: MergeRule) throws -> JSONObject {
            try Self.plan(Self.user(dynamic: own), Self.user(dynamic: other), MergeRules(general: rule)).dynamic
        }
        #expect(try merged(.keep) == own)
        let two = JSONValue.string("2")
        #expect(try merged(.fill) == ["a": .string("1"), "b": two, "e": .integer(2), "c": two])
        #expect(try merged(.take) == ["a": two, "b": two, "e": .integer(2), "c": two])
    }

    @Test("the address goes with the password whose login name it is, and a rule that says otherwise is refused")
    func password() throws {
        let (survivor, merged) = (Self.user("a@example.com", verified: true), Self.user("b@example.com"))
        let taken = try Self.plan(survivor, merged, passwords: (false, true))
        #expect(taken.password == .taken && taken.taken == [.email] && !taken.emailVerified)
        let kept = try Self.plan(survivor, merged, passwords: (true, true), MergeRules(general: .take))
        #expect(kept.password == .kept && kept.taken.isEmpty && kept.emailVerified)
        let none = try Self.plan(survivor, merged, MergeRules(general: .take))
        #expect(none.password == .none && none.taken == [.email] && !none.emailVerified)
        for (passwords, rule) in [((false, true), MergeRule.keep), ((true, false), .take), ((true, true), .take)] {
            let rules = MergeRules(properties: [("email", rule)])
            #expect(throws: Failure.self) { try Self.plan(survivor, merged, passwords: passwords, rules) }
        }
    }

    @Test("an address that one of two users has confirmed is confirmed for both, and another one is not")
    func confirmation() throws {
        let (confirmed, same) = (Self.user("a@example.com", verified: true), Self.user("a@example.com"))
        #expect(try Self.plan(same, confirmed).emailVerified)
        #expect(try Self.plan(confirmed, same).emailVerified)
        #expect(try !Self.plan(Self.user("b@example.com"), confirmed).emailVerified)
        #expect(try !Self.plan(Self.user(), same).emailVerified)
        #expect(try Self.plan(Self.user(), confirmed).emailVerified, "a taken address takes its state along")
    }

    @Test(
        "a ban of either counts, and a guest or a user who waits becomes one who is enabled",
        arguments: [
            (UserStatus.enabled, UserStatus.disabled, UserStatus.disabled), (.disabled, .enabled, .disabled),
            (.guest, .enabled, .enabled), (.enabled, .guest, .enabled), (.guest, .guest, .guest),
            (.emailConfirmationPending, .enabled, .enabled),
            (.emailConfirmationPending, .guest, .emailConfirmationPending),
            (.disabled, .guest, .disabled),
        ]
    )
    func status(_ survivor: UserStatus, _ merged: UserStatus, _ result: UserStatus) throws {
        #expect(try Self.plan(Self.user(status: survivor), Self.user(status: merged)).status == result)
    }

    @Test("the rule sync takes what every login overwrites, unless a property has another rule")
    func sync() throws {
        let rules = MergeRules(general: .sync, properties: [("nick", .keep), ("age", .sync)])
        let resolved = rules.resolved(overwritten: ["phone", "nick", "age"])
        #expect(resolved.general == .fill)
        let single = Dictionary(uniqueKeysWithValues: resolved.properties.map { ($0.name, $0.rule) })
        #expect(single == ["nick": .keep, "age": .take, "phone": .take])
        #expect(MergeRules(general: .keep, properties: [("age", .sync)]).resolved(overwritten: []).general == .keep)
    }
}
