import Description
import Domain
import Encodings
import Testing

@Suite("Shapes of JSON")
struct SchemaTests {
    private static let address = Schema.object(
        ["street": .string],
        optional: ["city": .string.length(1...100), "lines": .array(of: .string)]
    )

    private static func json(_ schema: Schema) -> JSONValue { schema.json(referringTo: "#/") }

    private static func json(_ text: String) throws -> JSONValue { try JSONParser.parse(text, limits: .document) }

    @Test("an object is closed unless it is open, and says what it cannot be without")
    func objects() throws {
        #expect(
            Self.json(Self.address)
                == (try Self.json(
                    """
                    {"type": "object", "required": ["street"], "properties": {"street": {"type": "string"},
                     "city": {"type": "string", "minLength": 1, "maxLength": 100},
                     "lines": {"type": "array", "items": {"type": "string"}}}, "additionalProperties": false}
                    """
                ))
        )
        #expect(Self.json(.object().open) == (try Self.json(#"{"type": "object", "additionalProperties": true}"#)))
        #expect(
            Self.json(.dictionary(of: .integer))
                == (try Self.json(#"{"type": "object", "additionalProperties": {"type": "integer"}}"#))
        )
    }

    @Test("what may be null is said once, and of a name beside it")
    func null() throws {
        let named = Self.address.named("Address")
        #expect(Self.json(.string.nullable.nullable) == (try Self.json(#"{"type": ["string", "null"]}"#)))
        #expect(
            Self.json(.oneOf("a", "b").nullable)
                == (try Self.json(#"{"type": ["string", "null"], "enum": ["a", "b", null]}"#))
        )
        #expect(
            Self.json(named.nullable.nullable)
                == (try Self.json(##"{"anyOf": [{"$ref": "#/Address"}, {"type": "null"}]}"##))
        )
        let nullable = Schema.boolean.nullable.named("Maybe")
        #expect(Self.json(nullable.nullable) == (try Self.json(##"{"$ref": "#/Maybe"}"##)))
    }

    @Test("a merge patch lacks what it leaves, and null is for what has a default")
    func patches() throws {
        let person = Schema.object(
            ["name": .string, "home": Self.address.named("Address")],
            optional: ["age": .integer]
        )
        #expect(
            Self.json(person.patch)
                == (try Self.json(
                    """
                    {"type": "object", "properties": {"name": {"type": "string"}, "home": {"type": "object",
                      "properties": {"street": {"type": "string"},
                       "city": {"type": ["string", "null"], "minLength": 1, "maxLength": 100},
                       "lines": {"type": ["array", "null"], "items": {"type": "string"}}},
                      "additionalProperties": false}, "age": {"type": ["integer", "null"]}},
                     "additionalProperties": false}
                    """
                ))
        )
    }

    @Test("a shape is made of another one")
    func others() {
        let more = Self.address.adding(["country": .string], optional: ["street": .string.nullable]).without("lines")
        #expect(more.properties.map(\.name) == ["street", "city", "country"])
        #expect(more.properties.map(\.isRequired) == [false, false, true])
        #expect(more.whole(but: "city").properties.map(\.isRequired) == [true, false, true])
    }

    @Test("of a JSON Schema stay types and bounds, and what its references lead to")
    func reading() throws {
        let schema = try Self.json(
            """
            {"title": "A person", "type": "object", "required": ["id"], "additionalProperties": false,
             "properties": {"id": {"description": "Who.", "$ref": "#/$defs/id"}, "key": {"$ref": "#/$defs/secret"},
              "kind": {"enum": ["a", "b", null], "default": null}, "tags": {"type": ["array", "null"], "maxItems": 3,
               "items": {"type": "string"}}}, "if": {"required": ["key"]}, "then": {"required": ["kind"]}}
            """
        )
        let definitions: JSONObject = ["id": try Self.json(#"{"type": "string", "pattern": "^[a-z]+$"}"#)]
        let secret = Schema.string.named("Secret")
        #expect(
            Self.json(Schema(reading: schema, definitions: definitions, references: ["secret": secret]))
                == (try Self.json(
                    ##"""
                    {"type": "object", "required": ["id"], "properties": {
                     "id": {"type": "string", "description": "Who.", "pattern": "^[a-z]+$"}, "key": {"$ref": "#/Secret"},
                     "kind": {"type": ["string", "null"], "enum": ["a", "b", null]},
                     "tags": {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 3}},
                     "additionalProperties": false}
                    """##
                ))
        )
    }

    @Test("a schema in place of a definition to which nothing refers is a mistake")
    func unused() async {
        await #expect(processExitsWith: .failure) {
            _ = Schema(reading: .object([:]), definitions: [:], references: ["secret": .string])
        }
    }

    @Test("a document has what its operations refer to, once, in the order in which they do")
    func document() throws {
        let address = Self.address.named("Address")
        let id = Parameter("id", in: .path, .uuid, "Whose.")
        let other = Parameter("id", in: .query, .string, "Another.")
        let found = Reply(200, "The address.", [Content(address)])
        let missing = Reply(404, as: "Missing", "Nobody.", [Content(.object(["why": .string]).named("Problem"))])
        var document = OpenAPI(["openapi": .string("3.1.0")], security: [:])
        for (method, name) in [("GET", "read"), ("DELETE", "remove")] {
            document.add(
                method,
                "/people/{id}",
                Operation(name, "Does.", parameters: [id], found, or: [missing])
            )
        }
        let components = try #require(document.json.object?["components"]?.object)
        #expect(components["parameters"]?.memberNames == ["Id"])
        #expect(components["responses"]?.memberNames == ["Missing"])
        document.add("GET", "/people", Operation("find", "Does.", parameters: [other], Reply(204, "Nothing.")))
        let find = document.json.object?["paths"]?.object?["/people"]?.object?["get"]?.object
        #expect(find?["parameters"]?.array?.first?.object?["in"]?.string == "query", "what one alone has stands there")
        #expect(components["schemas"]?.memberNames == ["Address", "Problem"])
        #expect(document.json.object?["paths"]?.object?["/people/{id}"]?.memberNames == ["get", "delete"])
    }
}
