import Domain
import Encodings
import FoundationEssentials
import Postgres
@testable import Store
import Testing
import TestSupport

@Suite("Queries of the users collection")
struct UserQueryTests {
    private static let moment: Int64 = 1_577_836_800_123
    private static let texts = ["", "a", "Ann", "ann", "a%b", "a_b", "'; drop table users; --", "é", "\\"]

    /// Inserts users, each of whom lacks some properties at random.
    private static func fill(_ tenant: Tenant, _ random: inout SeededRandom) async throws {
        for _ in 0..<40 {
            let user = try await tenant.insertUser(email: "\(random.next())@example.com")
            func set(_ name: String, _ values: [String], _ random: inout SeededRandom) async throws {
                guard Int.random(in: 0..<4, using: &random) > 0, let value = values.randomElement(using: &random) else {
                    return
                }
                try await tenant.set(name, to: value, of: user)
            }
            try await set("nick", texts, &random)
            try await set("points", ["-1", "0", "1", "9007199254740993"], &random)
            try await set("ratio", ["-0.5", "0", "0.5", "1e300"], &random)
            try await set("member", ["true", "false"], &random)
            try await set("birthday", ["1969-12-31", "1970-01-01", "2000-02-29"], &random)
            try await set(
                "seen",
                ["2020-01-01 00:00:00.1234+00", "2020-01-01 00:00:00.124+00", "1970-01-01 00:00+00"],
                &random
            )
        }
    }

    private static func column(_ name: String) throws -> UserColumn {
        .property(try #require(Tenant.properties.first { $0.name.text == name }))
    }

    private static let values: [(String, [PropertyValue])] = [
        ("nick", texts.map(PropertyValue.text)),
        ("points", [.integer(-1), .integer(0), .integer(1), .integer(9_007_199_254_740_993), .double(0.5)]),
        ("ratio", [.double(-0.5), .integer(0), .double(0.5), .double(1e300)]),
        ("member", [.boolean(true), .boolean(false)]),
        ("birthday", [-1, 0, 11_016].compactMap { CalendarDate(daysSince1970: $0).map(PropertyValue.date) }),
        ("seen", [.dateTime(moment), .dateTime(moment + 1), .dateTime(0)]),
    ]

    private static func filter(_ depth: Int, _ random: inout SeededRandom) throws -> UserFilter {
        func value(_ values: [PropertyValue], _ random: inout SeededRandom) throws -> UserFilter.Value {
            .property(try #require(values.randomElement(using: &random)))
        }
        if depth > 0 {
            let parts = try (0..<Int.random(in: 1...3, using: &random)).map { _ in try filter(depth - 1, &random) }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .all(parts)
            case 1: return .any(parts)
            case 2: return .not(parts[0])
            default: break
            }
        }
        let (name, values) = try #require(Self.values.randomElement(using: &random))
        let column = try column(name)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .isNull(column)
        case 1:
            return .isOne(
                column,
                of: try (0..<Int.random(in: 1...3, using: &random)).map { _ in try value(values, &random) }
            )
        case 2 where name != "member":
            return .between(column, try value(values, &random), try value(values, &random))
        case 3 where name == "nick":
            return .like(
                column,
                pattern: try #require(["%", "a%", "_n_", "a\\%b", "", "%'%"].randomElement(using: &random))
            )
        default:
            let signs = name == "member" ? [.equal, .different] : UserFilter.Sign.allCases
            return .comparison(column, try #require(signs.randomElement(using: &random)), try value(values, &random))
        }
    }

    @Test("T-84: a thousand random trees find whom the same rules find outside of the database")
    func agreement() async throws {
        var random = SeededRandom(12)
        var found = 0
        try await Tenant.lend { tenant in
            try await Self.fill(tenant, &random)
            let everybody = try await tenant.store.users(matching: UserQuery(limit: 100), of: tenant.application).value
            #expect(everybody.count == 40)
            for _ in 0..<1000 {
                let filter = try Self.filter(3, &random)
                var query = UserQuery(limit: 100)
                query.filter = filter
                let users = try await tenant.store.users(matching: query, of: tenant.application).value
                let expected = everybody.filter { filter.holds(of: $0) == true }
                #expect(users.map(\.objectID) == expected.map(\.objectID), "\(filter)")
                let count = try await tenant.store.userCount(matching: filter, of: tenant.application).value
                #expect(count == Int64(expected.count))
                found += users.count
            }
        }
        #expect(found > 1000)
    }

    @Test("T-84: the statement of a filter is made of our own words and of columns alone, whatever the values are")
    func words() throws {
        var random = SeededRandom(13)
        let ours = Set(
            "u and or not is null true in between like collate C any array text numeric date_trunc milliseconds lower left"
                .split(separator: " ").map(String.init)
        )
        let columns = Set(Tenant.properties.map(\.name.text))
        for _ in 0..<10_000 {
            let filter = try Self.filter(3, &random)
            let sql = filter.condition(in: "tenant").sql
            #expect(!sql.contains("'; ") && !sql.contains("--") && !sql.contains("%"), "\(sql)")
            let words = sql.split { !$0.isLetter && $0 != "_" }.map(String.init)
            #expect(Set(words).subtracting(ours).subtracting(columns).isEmpty, "\(sql)")
        }
    }

    @Test("users of more bytes than a reply may have are refused; what nobody wants is not read")
    func tooLarge() async throws {
        try await Tenant.lend { tenant in
            for _ in 0..<20 {
                let user = try await tenant.insertUser(email: "\(UUID())@example.com")
                try await tenant.set("nick", to: String(repeating: "x", count: 10_000), of: user)
                try await tenant.set("points", to: "1", of: user)
            }
            let application = tenant.application
            try await withStore(tenant.database.url, configure: { $0.resultBytes = 100_000 }) { store in
                var query = UserQuery(limit: 20)
                let failure = await #expect(throws: Failure.self) {
                    try await store.users(matching: query, of: application)
                }
                #expect(failure?.reason == .queryTooLarge && failure?.details["maxBytes"]?.integer == 100_000)
                query.unread = [Tenant.named("nick")]
                query.readsUndeclared = false
                let users = try await store.users(matching: query, of: application).value
                #expect(users.count == 20)
                #expect(users.allSatisfy { $0.value("nick") == nil && $0.value("points") == .integer(1) })
                query.unread = []
                query.limit = 5
                #expect(try await store.users(matching: query, of: application).value.count == 5)
            }
        }
    }

    @Test("an address is found in whatever case, and a list of ids may have what is none")
    func addresses() async throws {
        try await Tenant.lend { tenant in
            let ann = try await tenant.insertUser(email: "Ann@Example.com")
            _ = try await tenant.insertUser(email: "bob@example.com")
            func ids(_ filter: UserFilter) async throws -> [ObjectID] {
                var query = UserQuery(limit: 10)
                query.filter = filter
                return try await tenant.store.users(matching: query, of: tenant.application).value.map(\.objectID)
            }
            let email = try Self.column("email")
            let address = UserFilter.Value.property(.text("aNN@example.com"))
            #expect(try await ids(.comparison(email, .equal, address)) == [ann])
            #expect(try await ids(.isOne(email, of: [address])) == [ann])
            #expect(try await ids(.not(.comparison(email, .different, address))) == [ann])
            #expect(try await ids(.comparison(.objectID, .equal, .objectID(ann))) == [ann])
            let none = UserFilter.Value.property(.text("none"))
            #expect(try await ids(.isOne(.objectID, of: [none, .objectID(ann)])) == [ann])
            #expect(try await ids(.isOne(.objectID, of: [none])) == [])
            #expect(try await ids(.not(.isOne(.objectID, of: [none]))).count == 2)
        }
    }

    @Test("an id compared with any text says what the text of the id says")
    func idsAsTexts() async throws {
        try await Tenant.lend { tenant in
            var users: [ObjectID] = []
            for number in 0..<6 { users.append(try await tenant.insertUser(email: "u\(number)@example.com")) }
            func ids(_ filter: UserFilter) async throws -> Set<ObjectID> {
                var query = UserQuery(limit: 100)
                query.filter = filter
                return Set(try await tenant.store.users(matching: query, of: tenant.application).value.map(\.objectID))
            }
            func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
            func holds(_ sign: UserFilter.Sign, _ left: String, _ right: String) -> Bool {
                let (isLess, isEqual) = (
                    bytes(left).lexicographicallyPrecedes(bytes(right)), bytes(left) == bytes(right)
                )
                return switch sign {
                case .equal: isEqual
                case .different: !isEqual
                case .less: isLess
                case .atMost: isLess || isEqual
                case .greater: !isLess && !isEqual
                case .atLeast: !isLess
                }
            }
            let middle = users[0]
            let whole = middle.description
            let texts = ["", "abc", "8", "ZZZ", "é", "0000", "5%", String(whole.prefix(8)), whole]
            for text in texts {
                let value = ObjectID(text).map(UserFilter.Value.objectID) ?? .property(.text(text))
                for sign in UserFilter.Sign.allCases {
                    let expected = Set(users.filter { holds(sign, $0.description, text) })
                    let filter = UserFilter.comparison(.objectID, sign, value)
                    #expect(try await ids(filter) == expected, "\(sign) \(text)")
                    #expect(try await ids(.not(filter)) == Set(users).subtracting(expected), "not \(sign) \(text)")
                }
                let between = Set(
                    users.filter { holds(.atLeast, $0.description, text) && holds(.atMost, $0.description, "F") }
                )
                #expect(try await ids(.between(.objectID, value, .property(.text("F")))) == between, "\(text)")
            }
            #expect(try await ids(.like(.objectID, pattern: String(whole.prefix(30)) + "%")) == [middle])
            #expect(try await ids(.like(.objectID, pattern: "%")) == Set(users))
            #expect(try await ids(.like(.objectID, pattern: "x%")) == [])
            #expect(try await ids(.isNull(.objectID)) == [])
        }
    }

    @Test("of users who are alike in what is asked for one is found, and the rest of the query counts as ever")
    func distinct() async throws {
        var random = SeededRandom(14)
        try await Tenant.lend { tenant in
            try await Self.fill(tenant, &random)
            let everybody = try await tenant.store.users(matching: UserQuery(limit: 100), of: tenant.application).value
            for names in [["points"], ["member", "nick"], ["seen", "birthday", "ratio"]] {
                var query = UserQuery(limit: 100)
                query.distinct = try names.map(Self.column)
                query.order = [UserOrder(by: query.distinct[0], isDescending: true)]
                func key(_ user: User) -> String {
                    names.map { user.value(of: $0)?.json.text ?? "-" }.joined(separator: "|")
                }
                let found = try await tenant.store.users(matching: query, of: tenant.application).value
                #expect(Set(found.map(key)).count == found.count)
                #expect(Set(found.map(key)) == Set(everybody.map(key)), "\(names)")
                query.filter = .isNull(query.distinct[0])
                #expect(
                    try await tenant.store.users(matching: query, of: tenant.application).value.count
                        == Set(everybody.filter { $0.value(of: names[0]) == nil }.map(key)).count
                )
            }
        }
    }

    @Test("users of a role are those who were given it, or who are what it says; their roles come in their order")
    func roles() async throws {
        try await Tenant.lend { tenant in
            let (ann, bob) = (
                try await tenant.insertUser(email: "a@example.com"), try await tenant.insertUser(email: "b@example.com")
            )
            _ = try await tenant.change(ann, .giveRole("Editor"))
            _ = try await tenant.change(ann, .giveRole("Author"))
            func ids(_ filter: UserFilter) async throws -> [ObjectID] {
                var query = UserQuery(limit: 10)
                query.filter = filter
                return try await tenant.store.users(matching: query, of: tenant.application).value.map(\.objectID)
            }
            #expect(try await ids(.hasRole(.given("Editor"))) == [ann])
            #expect(try await ids(.not(.hasRole(.given("Editor")))) == [bob])
            let holders = try await ids(.hasRole(.system(.authenticatedUser)))
            #expect(Set(holders) == [ann, bob])
            #expect(try await ids(.hasRole(.system(.guestUser))) == [])
            let given = try await tenant.store.roles(of: [bob, ann], in: tenant.application)
            #expect(given == [[], ["Author", "Editor"]])
        }
    }

    @Test("an order has those without a value first, or last the other way round; pages neither repeat nor leave out")
    func order() async throws {
        var random = SeededRandom(13)
        try await Tenant.lend { tenant in
            try await Self.fill(tenant, &random)
            for isDescending in [false, true] {
                var query = UserQuery(limit: 7)
                query.order = [UserOrder(by: try Self.column("points"), isDescending: isDescending)]
                var users: [User] = []
                repeat {
                    query.offset = Int64(users.count)
                    users += try await tenant.store.users(matching: query, of: tenant.application).value
                } while users.count % 7 == 0 && users.count < 40
                #expect(Set(users.map(\.objectID)).count == 40)
                let points = users.map { user -> Int64 in
                    guard case .integer(let points) = user.value(of: "points") else { return .min }
                    return points
                }
                #expect(points == points.sorted { isDescending ? $0 > $1 : $0 < $1 })
            }
        }
    }
}

extension User {
    fileprivate func value(of name: String) -> PropertyValue? {
        properties.first { $0.name.text.hasSameBytes(as: name) }?.value
    }
}

extension UserFilter {
    /// Evaluates the filter in SQL's three-valued logic; nil is unknown.
    fileprivate func holds(of user: User) -> Bool? {
        switch self {
        case .all(let parts):
            let results = parts.map { $0.holds(of: user) }
            return results.contains(false) ? false : results.contains(nil) ? nil : true
        case .any(let parts):
            let results = parts.map { $0.holds(of: user) }
            return results.contains(true) ? true : results.contains(nil) ? nil : false
        case .not(let filter): return filter.holds(of: user).map { !$0 }
        case .isNull(let column): return Self.value(of: column, of: user) == nil
        case .isOne(let column, let values):
            return UserFilter.any(values.map { .comparison(column, .equal, $0) }).holds(of: user)
        case .between(let column, let least, let max):
            return UserFilter.all([.comparison(column, .atLeast, least), .comparison(column, .atMost, max)])
                .holds(of: user)
        case .like(let column, let pattern):
            guard case .text(let text) = Self.value(of: column, of: user) else { return nil }
            return Self.fits(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
        case .comparison(let column, let sign, .property(let value)):
            guard let left = Self.value(of: column, of: user) else { return nil }
            let order = Self.compare(left, value)
            return switch sign {
            case .equal: order == 0
            case .different: order != 0
            case .less: order < 0
            case .atMost: order <= 0
            case .greater: order > 0
            case .atLeast: order >= 0
            }
        case .comparison, .hasRole: return nil
        }
    }

    private static func value(of column: UserColumn, of user: User) -> PropertyValue? {
        guard case .property(let property) = column else { return nil }
        return user.value(of: property.name.text)
    }

    /// Compares two values; the result is negative, zero or positive.
    private static func compare(_ left: PropertyValue, _ right: PropertyValue) -> Int {
        func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int { left < right ? -1 : left > right ? 1 : 0 }
        switch (left, right) {
        case (.text(let left), .text(let right)):
            return Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8))
                ? -1 : left.hasSameBytes(as: right) ? 0 : 1
        case (.integer(let left), .integer(let right)): return order(left, right)
        case (.integer(let left), .double(let right)): return order(Double(left), right)
        case (.double(let left), .integer(let right)): return order(left, Double(right))
        case (.double(let left), .double(let right)): return order(left, right)
        case (.boolean(let left), .boolean(let right)): return order(left ? 1 : 0, right ? 1 : 0)
        case (.date(let left), .date(let right)): return order(left.daysSince1970, right.daysSince1970)
        case (.dateTime(let left), .dateTime(let right)): return order(left, right)
        default: return 1
        }
    }

    /// Returns whether a text matches a pattern of LIKE, independently of the implementation under test.
    private static func fits(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        switch first {
        case "%": return fits(text, pattern.dropFirst()) || !text.isEmpty && fits(text.dropFirst(), pattern)
        case "_": return !text.isEmpty && fits(text.dropFirst(), pattern.dropFirst())
        case "\\":
            return text.first == pattern.dropFirst().first && fits(text.dropFirst(), pattern.dropFirst(2))
        default: return text.first == first && fits(text.dropFirst(), pattern.dropFirst())
        }
    }
}
