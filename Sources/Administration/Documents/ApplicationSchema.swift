import Applications
import Description
import Domain
import Encodings
import Mapping
package import Providers

/// The JSON Schema of application documents (draft 2020-12).
///
/// It consists of the descriptions of everything that a document configures.
package enum ApplicationSchema {
    /// Returns the schema as text, with a line break at its end.
    package static func text(_ kinds: ProviderKinds) -> String { json(kinds).indented(\.text) + "\n" }

    /// Returns the schema for these provider kinds.
    private static func json(_ kinds: ProviderKinds) -> JSONValue {
        let parts: JSONObject = [
            "settings": described(
                "Settings of the application as a whole. An absent setting has its default.",
                ApplicationSettings.description.shape.schema
            ),
            "keys": keys,
            "providers": providers(kinds),
            "properties": properties,
            "mapping": mappings(kinds),
        ]
        var definitions = self.definitions
        definitions.append("property", .object(Property.description.shape.schema))
        if let type = Property.description.shape.fields.first {
            definitions.append("propertyType", .object(type.shape.schema))
        }
        for definition in MappingSchema.definitions.members { definitions.append(definition.key, definition.value) }
        let members = document.members.map { member in
            guard member.key == "properties", let own = member.value.object else { return member }
            return JSONObject.Member("properties", .object(JSONObject(own.members + parts.members)))
        }
        return .object(JSONObject(members + [.init("$defs", .object(definitions))]))
    }

    private static func described(_ text: String, _ schema: JSONObject) -> JSONValue {
        .object(JSONObject([.init("description", .string(text))] + schema.members))
    }

    /// The top level of the schema, without the parts that have descriptions elsewhere.
    private static let document = schema(
        ##"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "title": "Application document",
          "description": "An application of the federation service: what `federation apply` makes it. mappings/README.md explains it with examples.",
          "type": "object",
          "required": ["application"],
          "additionalProperties": false,
          "anyOf": [
            {"required": ["schema"]},
            {
              "properties": {
                "application": {
                  "$comment": "Without `schema` the id names the PostgreSQL schema.",
                  "not": {"pattern": "^(?:federation|information_schema|public)$|^pg_"}
                }
              }
            }
          ],
          "properties": {
            "$schema": {"description": "Where this JSON Schema is, for editors; the service ignores it.", "type": "string"},
            "application": {
              "description": "The id, which begins every public path: letters, digits, _ and -, beginning with a letter or digit.",
              "$ref": "#/$defs/id"
            },
            "name": {
              "description": "A name for people, at most 200 bytes. An absent name is the id.",
              "type": "string",
              "minLength": 1,
              "maxLength": 200
            },
            "schema": {
              "description": "The PostgreSQL schema of the application's users; the id when absent. It cannot be changed later.",
              "$ref": "#/$defs/id",
              "not": {"pattern": "^(?:federation|information_schema|public)$|^pg_"}
            },
            "database": {
              "description": "The database of that schema: the environment variable with the URL of a database of the application's own, or null for the main database. When absent an application stays where it is.",
              "oneOf": [
                {"type": "null"},
                {
                  "type": "object",
                  "required": ["env"],
                  "additionalProperties": false,
                  "properties": {
                    "env": {
                      "type": "string",
                      "maxLength": 63,
                      "pattern": "^[A-Z][A-Z0-9_]*_DATABASE_URL$",
                      "not": {"pattern": "^FEDERATION_"}
                    }
                  }
                }
              ]
            }
          }
        }
        """##
    )

    private static let keys = JSONValue(
        schema: ##"""
            {
              "description": "The API keys, the second part of every public path. Without a key nobody can call. A key that is not here is revoked.",
              "type": "array",
              "maxItems": 100,
              "items": {
                "type": "object",
                "required": ["label", "key"],
                "additionalProperties": false,
                "properties": {
                  "label": {
                    "description": "What the key is called, at most 100 bytes; no label twice.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 100
                  },
                  "key": {
                    "description": "The environment variable that holds the key: 16 to 128 letters, digits, - and _.",
                    "$ref": "#/$defs/secret"
                  },
                  "server": {
                    "description": "Whether the key is a server's: it may give roles, disable users and log in as a user. Never for apps and pages.",
                    "type": "boolean",
                    "default": false
                  }
                }
              }
            }
            """##
    )

    private static let properties = JSONValue(
        schema: ##"""
            {
              "description": "The properties of users: each is a typed column of the users table. A property that is not here any more stays. `email` and `name` exist without being declared.",
              "type": "object",
              "maxProperties": 502,
              "propertyNames": {"$ref": "#/$defs/propertyName"},
              "properties": {"email": {"$ref": "#/$defs/builtInProperty"}, "name": {"$ref": "#/$defs/builtInProperty"}},
              "additionalProperties": {"$ref": "#/$defs/property"}
            }
            """##
    )

    private static let providerName = schema(
        #"{"pattern": "^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$", "not": {"const": "password"}}"#
    )

    private static func providers(_ kinds: ProviderKinds) -> JSONValue {
        let references = kinds.all.map { kind in
            JSONValue.object(["$ref": .string("#/properties/providers/properties/\(kind.name)")])
        }
        return described(
            "Who vouches for users, by the names that the application calls them.",
            [
                "type": .string("object"), "propertyNames": .object(providerName),
                "additionalProperties": described(
                    "A provider under a name of its own: the members of its kind, and the kind.",
                    [
                        "type": .string("object"), "required": .array([.string("kind")]), "anyOf": .array(references),
                    ]
                ),
                "properties": .object(
                    JSONObject(kinds.all.map { .init($0.name.text, .object($0.schema)) })
                ),
            ]
        )
    }

    private static func mappings(_ kinds: ProviderKinds) -> JSONValue {
        let reference = JSONValue.object(["$ref": .string("#/$defs/mapping")])
        return described(
            "Which fields of a profile are written into which properties: a mapping for each provider, by its name.",
            [
                "type": .string("object"), "propertyNames": .object(providerName), "additionalProperties": reference,
                "properties": .object(JSONObject(kinds.all.map { .init($0.name.text, reference) })),
            ]
        )
    }

    private static let definitions = schema(
        ##"""
        {
          "id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"},
          "secret": {
            "description": "Secrets are never written into a document: this names the environment variable that `federation apply` takes the secret from.",
            "type": "object",
            "required": ["env"],
            "additionalProperties": false,
            "properties": {
              "env": {"type": "string", "pattern": "^[A-Za-z0-9_]{1,128}$", "not": {"pattern": "^FEDERATION_"}}
            }
          },
          "propertyName": {
            "description": "ASCII letters, digits and _, beginning with a letter, at most 63; compared as bytes.",
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_]{0,62}$",
            "not": {"$ref": "#/$defs/reservedName"}
          },
          "builtInProperty": {"$ref": "#/$defs/property", "properties": {"type": {"const": "STRING"}}}
        }
        """##
    ).adding("reservedName", .object(reservedName))

    /// A pattern of the reserved property names, in upper or lower case.
    private static let reservedName: JSONObject = {
        let names = PropertyName.reserved.map { name in
            name.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
        }
        return [
            "$comment": .string("Properties and columns of the system, and PostgreSQL's own columns."),
            "pattern": .string("^(?:" + names.joined(separator: "|") + ")$"),
        ]
    }()

    private static func schema(_ text: String) -> JSONObject { JSONValue(schema: text).object ?? [:] }
}

extension ProviderKind {
    /// The schema of a provider of this kind.
    ///
    /// An enabled provider has at least one app.
    fileprivate var schema: JSONObject {
        var members: JSONObject = [
            "kind": .object([
                "description": .string(
                    """
                    The kind of provider. It never changes. A provider that is called as its kind need not say it; one \
                    under a name of its own must.
                    """
                ),
                "const": .string(name.text),
            ]),
            "apps": .object([
                "description": .string(
                    "The apps at \(title), in the order in which they are asked. iOS, Android and web may each have their own."
                ),
                "type": .string("array"), "maxItems": .integer(100),
                "items": .object(ObjectShape(appTerms.fields).schema),
            ]),
        ]
        for field in settingFields {
            let secret = secretOptions.first { $0.name == field.name }
            members.append(field.name, .object(secret?.schema ?? field.schema))
        }
        var schema: JSONObject = [
            "description": .string("Login with \(title). An enabled provider has an app at least."),
            "type": .string("object"), "additionalProperties": .bool(false), "properties": .object(members),
            "anyOf": JSONValue(
                schema: """
                    [
                      {"required": ["enabled"], "properties": {"enabled": {"const": false}}},
                      {"required": ["apps"], "properties": {"apps": {"minItems": 1}}}
                    ]
                    """
            ),
        ]
        if !optionShape.rules.isEmpty { schema.append("allOf", .array(optionShape.rules)) }
        return schema
    }
}

extension SecretOption {
    /// The schema of the option in a document.
    ///
    /// The option is the environment variable of the secret, `null`, or the secret itself as in documents of earlier
    /// versions.
    fileprivate var schema: JSONObject {
        let text: JSONObject = [
            "type": .string("string"),
            "pattern": .string("^[!-~]{\(bytes.lowerBound),\(bytes.upperBound)}$"), "deprecated": .bool(true),
        ]
        return [
            "title": .string(field.title), "description": .string(field.meaning),
            "oneOf": .array([
                .object(field.shape.schema), .object(text), .object(["type": .string("null")]),
            ]),
            "default": .null,
        ]
    }
}

extension JSONObject {
    fileprivate func adding(_ key: String, _ value: JSONValue) -> JSONObject {
        JSONObject(members + [Member(key, value)])
    }
}
