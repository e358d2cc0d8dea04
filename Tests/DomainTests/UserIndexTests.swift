import Domain
import Testing

@Suite("Which indexes serve a search, and which would")
struct UserIndexTests {
    private static func column(_ name: String, _ type: PropertyType, indexed: Bool = false) throws -> UserColumn {
        .property(Property(name: try #require(PropertyName(name)), type: type, indexed: indexed))
    }

    private static func text(_ text: String) -> UserFilter.Value { .property(.text(text)) }
    private static func number(_ number: Int64) -> UserFilter.Value { .property(.integer(number)) }

    /// A search, whether indexes narrow and order it, and the properties for which an index would help.
    private struct Case {
        let filter: UserFilter?
        var order: [UserOrder] = []
        let narrows: Bool
        let orders: Bool
        let advice: [String]
    }

    private static func cases() throws -> [Case] {
        let city = try column("city", .string)
        let name = try column("name", .string, indexed: true)
        let (age, score) = (try column("age", .int), try column("score", .double, indexed: true))
        let (email, seen) = (try column("email", .string), try column("seen", .dateTime, indexed: true))
        let inCity = UserFilter.comparison(city, .equal, text("x"))
        let named = UserFilter.comparison(name, .equal, text("x"))
        let old = UserFilter.comparison(age, .greater, number(60))
        func by(_ column: UserColumn) -> [UserOrder] { [UserOrder(by: column, isDescending: true)] }
        return [
            Case(filter: nil, narrows: false, orders: true, advice: []),
            Case(filter: nil, order: by(age), narrows: false, orders: false, advice: ["age"]),
            Case(filter: nil, order: by(score) + by(age), narrows: false, orders: true, advice: []),
            Case(filter: nil, order: by(.created), narrows: false, orders: false, advice: []),
            Case(filter: inCity, narrows: false, orders: false, advice: ["city"]),
            Case(filter: .all([old, inCity]), narrows: false, orders: false, advice: ["age", "city"]),
            Case(filter: .all([old, .all([inCity, old])]), narrows: false, orders: false, advice: ["age", "city"]),
            Case(filter: .any([inCity, old]), narrows: false, orders: false, advice: []),
            Case(filter: .any([inCity]), narrows: false, orders: false, advice: ["city"]),
            Case(filter: .not(inCity), narrows: false, orders: false, advice: []),
            Case(
                filter: .comparison(city, .different, text("x")),
                order: by(age),
                narrows: false,
                orders: false,
                advice: ["age"]
            ),
            Case(filter: .like(city, pattern: "ab%"), narrows: false, orders: false, advice: ["city"]),
            Case(filter: .like(city, pattern: "%ab"), narrows: false, orders: false, advice: []),
            Case(filter: .like(city, pattern: "_b"), narrows: false, orders: false, advice: []),
            Case(filter: .like(city, pattern: "\\%%"), narrows: false, orders: false, advice: ["city"]),
            Case(filter: .isNull(city), narrows: false, orders: false, advice: ["city"]),
            Case(filter: .isOne(age, of: [number(1)]), narrows: false, orders: false, advice: ["age"]),
            Case(filter: .between(age, number(1), number(2)), narrows: false, orders: false, advice: ["age"]),
            // An index lookup for one value returns rows in the order of ids.
            Case(filter: named, narrows: true, orders: true, advice: []),
            Case(filter: .all([named, old]), narrows: true, orders: true, advice: ["age"]),
            Case(filter: named, order: by(age), narrows: true, orders: false, advice: ["age"]),
            Case(filter: named, order: by(name), narrows: true, orders: true, advice: []),
            Case(filter: .like(name, pattern: "a%"), narrows: true, orders: true, advice: []),
            Case(filter: .isNull(name), narrows: true, orders: true, advice: []),
            Case(filter: .comparison(seen, .equal, .property(.dateTime(1))), narrows: true, orders: true, advice: []),
            Case(filter: .isOne(seen, of: [.property(.dateTime(1))]), narrows: false, orders: false, advice: []),
            Case(
                filter: .comparison(score, .less, number(1)),
                order: by(score),
                narrows: true,
                orders: true,
                advice: []
            ),
            Case(filter: .comparison(email, .equal, text("a@b.c")), narrows: true, orders: false, advice: []),
            Case(filter: .isOne(email, of: [text("a@b.c")]), narrows: true, orders: false, advice: []),
            Case(filter: .like(email, pattern: "a%"), narrows: false, orders: false, advice: ["email"]),
            Case(filter: .comparison(.objectID, .greater, text("")), narrows: false, orders: false, advice: []),
            Case(filter: .like(.objectID, pattern: "1F%"), narrows: false, orders: false, advice: []),
            Case(filter: .comparison(.created, .greater, number(1)), narrows: false, orders: false, advice: []),
        ]
    }

    @Test("what indexes do for a search follows from the comparisons that hold of everybody, and from the order")
    func use() throws {
        for (number, search) in try Self.cases().enumerated() {
            var query = UserQuery(limit: 10)
            query.filter = search.filter
            query.order = search.order
            #expect(query.indexUse.narrows == search.narrows, "\(number): \(String(describing: search.filter))")
            #expect(query.indexUse.orders == search.orders, "\(number): \(String(describing: search.order))")
            #expect(query.propertiesToIndex.map(\.text) == search.advice, "\(number)")
        }
    }

    @Test("the beginning of a pattern ends in front of the first wildcard that means one")
    func beginnings() {
        let cases = [
            ("", ""), ("%", ""), ("_a", ""), ("abc", "abc"), ("abc%", "abc"), ("a_c%", "a"), ("a\\%b%", "a\\%b"),
            ("a\\\\%", "a\\\\"), ("é%", "é"), ("a\\", "a"),
        ]
        for (pattern, beginning) in cases {
            #expect(
                String(String.UnicodeScalarView(UserFilter.literalBeginning(of: pattern))) == beginning,
                "\(pattern)"
            )
        }
    }
}
