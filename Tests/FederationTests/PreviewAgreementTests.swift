import Federation
import FoundationEssentials
import Identity
import Mapping
import Store
import TestSupport
import Testing

/// What previews say of repeated logins is worked out in Swift, what logins do is SQL: here one is held to the other.
@Suite("Previews agree with logins")
struct PreviewAgreementTests {
    /// Values as a profile has them, and as somebody writes them into the table by hand.
    private static let pools: [(type: PropertyType, profile: [String], edits: [String])] = [
        (.string, [#""a""#, #""b""#, #""""#], ["'a'", "'b'", "''", "' '"]),
        (.text, [#""é""#, "7"], ["'e\u{301}'", "'7'", "''"]),
        (.int, ["1", "2.0", #""3""#], ["1", "2", "9"]),
        (.double, ["1.5", "0.1", "1e2"], ["1.5", "0.1", "100"]),
        (.boolean, ["true", "false"], ["true", "false"]),
        (.date, [#""05/06/1990""#, #""1990-05-07""#, #""05/06""#], ["date '1990-05-06'", "date '2000-01-01'"]),
        (
            .dateTime, [#""2017-05-06T07:08:09+0000""#, "1494054490"],
            ["timestamptz '2017-05-06 09:08:09+02'", "timestamptz '2017-05-06 07:08:09.5Z'"]
        ),
        (.json, [#"{"a":1.0,"b":[]}"#, "[1,2.50]", #""x""#], [#"'{"b": [], "a": 1}'"#, "'[1, 2.5]'", "'null'"]),
    ]

    private static let targets = pools.flatMap { pool in
        SyncMode.allCases.map { (name: "\(pool.type.rawValue)_\($0.rawValue)".lowercased(), pool: pool, sync: $0) }
    }

    @Test("entry by entry, over logins and edits in any order", arguments: [1, 2, 3] as [UInt64])
    func agreement(seed: UInt64) async throws {
        try await Office.lend { office in
            var random = Random(state: seed)
            try await Self.prepare(office)
            var user: ObjectID?
            for _ in 0..<25 {
                let profile = Self.profile(&random)
                var request: JSONObject = ["profile": profile]
                if let user { request.append("user", .string(user.description)) }
                let preview = try await office.administration.previewMapping(
                    for: .facebook,
                    of: "demo",
                    .object(request)
                )
                #expect(preview.object?["created"] == .bool(user == nil))
                let before = try await Self.values(office)
                let written = try await Self.signIn(office, profile: try #require(profile.object))
                #expect(written.created == (user == nil))
                user = written.user.objectID
                let entries = try #require(preview.object?["entries"]?.array).compactMap(\.object)
                #expect(entries.count == Self.targets.count)
                for entry in entries {
                    let name = try #require(entry["to"]?.string)
                    let outcome = try #require(entry["outcome"]?.string)
                    let after = written.user.properties.first { $0.name.text == name }?.value?.json
                    let expected =
                        ["written", "unchanged", "defaulted"].contains(outcome) ? entry["value"] : before[name]
                    #expect(Self.normal(after) == Self.normal(expected), "\(name) \(outcome): \(entry)")
                    #expect(Self.normal(entry["current"]) == Self.normal(before[name]))
                    if outcome == "unchanged" { #expect(Self.normal(after) == Self.normal(before[name])) }
                    if outcome == "written" { #expect(Self.normal(after) != Self.normal(before[name])) }
                }
                try await Self.edit(office, &random)
            }
        }
    }

    private static func prepare(_ office: Office) async throws {
        for target in targets {
            let property: JSONObject = ["name": .string(target.name), "type": .string(target.pool.type.rawValue)]
            _ = try await office.administration.declareProperty(
                of: "demo",
                .object(property),
                if: .any,
                by: Office.actor
            )
        }
        let entries = targets.map { target in
            JSONValue.object([
                "from": .string("f_" + target.name), "to": .string(target.name), "sync": .string(target.sync.rawValue),
            ])
        }
        _ = try await office.administration.putMapping(
            for: .facebook,
            of: "demo",
            .array(entries),
            if: .any,
            by: Office.actor
        )
    }

    private static func profile(_ random: inout Random) -> JSONValue {
        var profile: JSONObject = ["id": .string("42")]
        for target in targets {
            guard let value = target.pool.profile.randomElement(using: &random),
                Int.random(in: 0..<4, using: &random) > 0
            else { continue }
            profile.append("f_" + target.name, (try? json(value)) ?? .null)
        }
        return .object(profile)
    }

    /// Somebody changes some columns by hand.
    private static func edit(_ office: Office, _ random: inout Random) async throws {
        var changes: [String] = []
        for target in targets where Int.random(in: 0..<3, using: &random) == 0 {
            let value = (target.pool.edits + ["null"]).randomElement(using: &random) ?? "null"
            changes.append("\(target.name) = \(value)")
        }
        guard !changes.isEmpty else { return }
        try await office.database.psql("update demo.users set \(changes.joined(separator: ", "))")
    }

    private static func signIn(_ office: Office, profile: JSONObject) async throws -> WrittenSignIn {
        let id = try #require(ApplicationID("demo"))
        let stored = try #require(try await office.store.application(id))
        let mapping = try CompiledMapping(
            stored: try Mapping(try #require(stored.mapping)),
            client: nil,
            fields: .facebook,
            properties: stored.properties,
            settings: ApplicationSettings()
        )
        let application = Application(
            id: id,
            name: stored.name,
            schema: stored.schema,
            revision: stored.revision,
            settings: ApplicationSettings(),
            properties: stored.properties,
            providers: [:]
        )
        let targets = mapping.targets.map { SignInStatement.Target(name: $0.name, type: $0.type, sync: $0.sync) }
        let write = SignInWrite(
            person: VerifiedPerson(
                identity: IdentityKey(
                    provider: .facebook,
                    app: try #require(ProviderAppID("1")),
                    subject: try #require(Subject("42"))
                ),
                profile: profile,
                scopes: [],
                dataAccessExpiresAt: nil
            ),
            freshID: ObjectID(UUID()),
            tokenHash: (0..<32).map { _ in .random(in: 0 ... .max) },
            previousTokenHash: nil,
            sessionSeconds: 60,
            values: try mapping.apply(to: profile, grantedScopes: nil).values,
            dynamic: JSONObject()
        )
        let statement = SignInStatement(application: application, provider: .facebook, targets: targets)
        return try await office.store.signIn(write, by: statement, deadline: .now + .seconds(10))
    }

    /// What the one user has, as replies carry it.
    private static func values(_ office: Office) async throws -> [String: JSONValue] {
        let page = try await office.administration.users(of: "demo", matching: UserSearch(), PageRequest())
        let members = page.items.first?.object?.members ?? []
        return Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The value with its numbers as PostgreSQL compares them; nil for an empty one.
    private static func normal(_ value: JSONValue?) -> JSONValue? {
        switch value {
        case nil, .null: nil
        case .number(let number): number.double.flatMap(JSONNumber.init).map(JSONValue.number)
        case .array(let elements): .array(elements.map { normal($0) ?? .null })
        case .object(let object): .object(JSONObject(object.members.map { .init($0.key, normal($0.value) ?? .null) }))
        case let other: other
        }
    }

    /// SplitMix64, so that a seed gives the same run again.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
