import Domain
import Testing

@Suite("Names and ids")
struct NamesTests {
    @Test(
        "property names are a letter and then letters, digits and _",
        arguments: ["a", "Z", "givenName", "x_1", "a__", "A1b2_"]
    )
    func propertyNames(text: String) {
        #expect(PropertyName(text)?.text == text)
        #expect(PropertyName(text)?.isReserved == false)
    }

    @Test(
        "T-52: a name that could mean something to SQL is no property name",
        arguments: [
            "x\"; drop table users;--", "a'b", "data->>'x'", "users.password", "\"password\"", "a b", "a-b", "a;",
            "a\\", "a`b", "a$1",
            "%s%n", "${7*7}", "{{7*7}}", "a\nb", "a\r\nb", "a\tb", "a\u{0}b", "--", "*", "a,b", "a(b)", "a::text",
        ]
    )
    func noSQL(text: String) {
        #expect(PropertyName(text) == nil)
    }

    @Test("T-55: a name has 1 to 63 bytes; PostgreSQL would cut a longer one, and two names would be one column")
    func length() {
        #expect(PropertyName("") == nil)
        #expect(PropertyName(String(repeating: "a", count: 63)) != nil)
        #expect(PropertyName(String(repeating: "a", count: 64)) == nil)
        #expect(PropertyName(String(repeating: "a", count: 60) + "é") == nil)
    }

    @Test(
        "T-56: a canonical equivalent of an ASCII name is not that name",
        arguments: [
            "\u{212A}ey", "\u{37E}", "\u{1FEF}a", "e\u{301}", "\u{E9}", "\u{FF41}", "\u{430}", "a\u{200B}", "a\u{FE0F}",
            "\u{FEFF}a",
        ]
    )
    func canonicalEquivalents(text: String) {
        #expect(PropertyName(text) == nil)
        #expect(ApplicationID(text) == nil)
    }

    @Test("T-56: Swift itself takes the Kelvin sign for a K, which is why names are checked as bytes")
    func kelvin() {
        #expect("\u{212A}ey" == "Key")
        #expect(PropertyName("\u{212A}ey") == nil)
        #expect(PropertyName("Key") != PropertyName("key"))
    }

    @Test(
        "T-50, T-57: names of the system are reserved in every spelling of case",
        arguments: [
            "objectId", "ownerId", "created", "updated", "lastLogin", "userStatus", "socialAccount", "accountType",
            "oAuthIdentities", "blUserLocale", "password", "roles", "id", "code", "message", "object_id",
            "email_verified",
            "user_status", "social_account", "last_login", "locale", "dynamic", "ctid", "xmin", "xmax", "cmin", "cmax",
            "oid", "tableoid",
        ]
    )
    func reserved(text: String) {
        for spelling in [text, text.lowercased(), text.uppercased()] {
            #expect(PropertyName(spelling)?.isReserved == true, "\(spelling)")
        }
    }

    @Test(
        "T-57: names that only a programming language reserves are names like others",
        arguments: ["user", "select", "order", "constructor", "table"]
    )
    func notReserved(text: String) {
        #expect(PropertyName(text)?.isReserved == false)
    }

    @Test(
        "T-57: names with a meaning elsewhere are refused by the rule itself",
        arguments: ["", "__proto__", "___class", "user-token", "_a", "1a", "$a"]
    )
    func refused(text: String) {
        #expect(PropertyName(text) == nil)
    }

    @Test("the built-in properties are e-mail and name")
    func builtIn() {
        #expect(Property.builtIn.map(\.name) == [.email, .name])
        #expect(Property.builtIn.map(\.name.text) == ["email", "name"])
        #expect(
            Property.builtIn.allSatisfy {
                $0.clientMappable && $0.type == .string && !$0.required && !$0.name.isReserved
            }
        )
    }

    @Test("application ids are 1 to 63 bytes of letters, digits, - and _")
    func applicationIDs() {
        for text in ["a", "0", "demo-app_1", "6F1C0B5E-0000-4000-8000-000000000001", String(repeating: "a", count: 63)]
        {
            #expect(ApplicationID(text)?.text == text)
        }
        for text in ["", "-a", "_a", "a b", "a.b", "a/b", "a%2Fb", "é", "..", String(repeating: "a", count: 64)] {
            #expect(ApplicationID(text) == nil, "\(text)")
        }
    }

    @Test("T-40: subjects of who numbers people are decimal text, kept as written, and never 0 or with zeros in front")
    func decimalSubjects() {
        #expect(Subject(decimal: "10")?.text == "10")
        #expect(Subject(decimal: String(repeating: "9", count: 64)) != nil)
        for text in [
            "", "0", "00", "010", "10.0", "+1", "-1", "1e3", " 1", "1\n", "١٢", "１", "0x1",
            String(repeating: "9", count: 65),
        ] {
            #expect(Subject(decimal: text) == nil, "\(text)")
        }
    }

    @Test("subjects are printable ASCII without a space, kept as written")
    func subjects() {
        for text in [
            "10", "0", "001999.4f1c0e8a7b6d4c3e9f2a.0731", "auth0|5f7c8ec7c33c6c004bbafe82", "a/b%2F'\"\\$1", "!~",
            String(repeating: "~", count: 255),
        ] {
            #expect(Subject(text)?.text == text)
        }
        for text in ["", "a b", " a", "a\n", "a\u{7F}", "a\u{0}", "é", "１", String(repeating: "a", count: 256)] {
            #expect(Subject(text) == nil, "\(text)")
        }
    }

    @Test("apps at providers and providers have names of their own grammar, compared as bytes")
    func providers() {
        for text in [
            "1234567890", "xvz1evFS4wEEPTGEFPHBog", "a-b_c", "407408718192.apps.googleusercontent.com",
            "com.example.app",
            "https://sso.example.com/", String(repeating: "9", count: 255),
        ] {
            #expect(ProviderAppID(text)?.text == text)
        }
        for text in ["", "+1", " 1", "1\n", "١٢", "１", "a b", "a%2Fb", "a|b", String(repeating: "9", count: 256)] {
            #expect(ProviderAppID(text) == nil, "\(text)")
        }
        #expect(ProviderName("facebook") == ProviderName(known: "facebook"))
        #expect(ProviderName("facebook")?.socialAccount == "FACEBOOK")
        for text in ["a", "staff-sso", "a--1", String(repeating: "a", count: 32)] {
            #expect(ProviderName(text)?.text == text)
        }
        for text in [
            "", "Facebook", "1a", "-a", "a-", "a_b", "a b", "a/b", "fаcebook", String(repeating: "a", count: 33),
        ] {
            #expect(ProviderName(text) == nil, "\(text)")
        }
    }

    @Test("no two identities have one path, and those of digits have the one that they have always had")
    func paths() throws {
        func path(_ provider: String, _ app: String, _ subject: String) throws -> String {
            IdentityKey(
                provider: try #require(ProviderName(provider)),
                app: try #require(ProviderAppID(app)),
                subject: try #require(Subject(subject))
            ).path
        }
        #expect(try path("facebook", "42", "1001") == "facebook/42/1001")
        let paths = [
            try path("a", "b", "c/d/e"), try path("a", "b/c", "d/e"), try path("a", "b/c/d", "e"),
            try path("a", "b", "c%2Fd/e"), try path("a", "b", "c/d%2Fe"), try path("a", "/b", "c/d"),
            try path("a", "b/", "c/d"), try path("a", "b", "/c/d"), try path("a", "b/c", "/d"),
        ]
        #expect(Set(paths).count == paths.count)
    }

    @Test("object ids are UUIDs, written in upper case")
    func objectIDs() {
        #expect(ObjectID("6f1c0b5e-1234-4abc-8def-0123456789ab")?.description == "6F1C0B5E-1234-4ABC-8DEF-0123456789AB")
        for text in ["", "6F1C", "6f1c0b5e12344abc8def0123456789ab", "role:a", "6f1c0b5e-1234-4abc-8def-0123456789ag"] {
            #expect(ObjectID(text) == nil, "\(text)")
        }
    }
}
