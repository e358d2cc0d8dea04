import Applications
import Description
import Domain
import Encodings
import Mapping
package import Providers

/// The JSON Schema of application documents (draft 2020-12).
///
/// The schema consists of the descriptions of the settings, options and other parts that a document configures.
package enum ApplicationSchema {
    /// Returns the JSON Schema of application documents as text, with a line break at its end.
    package static func text(_ kinds: ProviderKinds) -> String { json(kinds).indented(\.text) + "\n" }

    /// Returns the JSON Schema of application documents, for these provider kinds.
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

    /// The top level of the JSON Schema, without `settings`, `keys`, `providers`, `properties` and `mapping`.
    private static let document = schema(
        ##"""
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "title": "Application document",
          "description": "An application of the federation service, for `federation apply`. See mappings/README.md for examples.",
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
            "$schema": {"description": "The location of this JSON Schema, for editors. The service ignores it.", "type": "string"},
            "application": {
              "description": "The id, at the beginning of each public path: letters, digits, _ and -, beginning with a letter or digit.",
              "$ref": "#/$defs/id"
            },
            "name": {
              "description": "The displayed name, at most 200 bytes. The default is the id.",
              "type": "string",
              "minLength": 1,
              "maxLength": 200
            },
            "schema": {
              "description": "The PostgreSQL schema of the application's users. The default is the id. It cannot be changed later.",
              "$ref": "#/$defs/id",
              "not": {"pattern": "^(?:federation|information_schema|public)$|^pg_"}
            },
            "database": {
              "description": "The database of that schema: the environment variable with the URL of the application's own database, or null for the main database. If absent, the application stays where it is.",
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
              "description": "The API keys, the second part of each public path. Without a key, clients cannot call. A key that is not listed is revoked.",
              "type": "array",
              "maxItems": 100,
              "items": {
                "type": "object",
                "required": ["label", "key"],
                "additionalProperties": false,
                "properties": {
                  "label": {
                    "description": "The name of the key, at most 100 bytes. Each label only once.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 100
                  },
                  "key": {
                    "description": "The environment variable with the key: 16 to 128 letters, digits, - and _.",
                    "$ref": "#/$defs/secret"
                  },
                  "server": {
                    "description": "Whether it is a server key, which can assign roles, disable users and log in as a user. Never use it in apps and pages.",
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
              "description": "The properties of users. Each is a typed column of the users table. A property that is no longer listed is kept. `email` and `name` exist without a declaration.",
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
            "The providers, by their names in the application.",
            [
                "type": .string("object"), "propertyNames": .object(providerName),
                "additionalProperties": described(
                    "A provider whose name is not its kind: the members of its kind, and the kind.",
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
            "The mappings of profile fields to properties, by provider name.",
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
            "description": "Documents contain no secrets. This names the environment variable from which `federation apply` reads the secret.",
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

    /// A pattern that matches the reserved property names, in upper or lower case.
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
    /// The JSON Schema of a provider of this kind in an application document.
    ///
    /// The schema requires that an enabled provider has at least one app.
    fileprivate var schema: JSONObject {
        var members: JSONObject = [
            "kind": .object([
                "description": .string(
                    "The provider kind. It cannot change. Required unless the provider's name is its kind."
                ),
                "const": .string(name.text),
            ]),
            "apps": .object([
                "description": .string(
                    """
                    The apps at \(title), in the order in which they are tried. iOS, Android and web may each have \
                    their own.
                    """
                ),
                "type": .string("array"), "maxItems": .integer(100),
                "items": .object(ObjectShape(appTerms.fields).schema),
            ]),
        ]
        for field in settingFields {
            let secret = secretOptions.first { $0.name == field.name }
            members.append(field.name, .object(secret?.schema ?? field.schema))
        }
        let others = secretlessApps.map { ", or one of \($0)" } ?? ""
        var schema: JSONObject = [
            "description": .string("Login with \(title). An enabled provider needs at least one app\(others)."),
            "type": .string("object"), "additionalProperties": .bool(false), "properties": .object(members),
            "anyOf": .array(
                [JSONValue(schema: #"{"required": ["enabled"], "properties": {"enabled": {"const": false}}}"#)]
                    + ["apps", secretlessApps].compactMap(\.self).map { name in
                        JSONValue(schema: #"{"required": ["\#(name)"], "properties": {"\#(name)": {"minItems": 1}}}"#)
                    }
            ),
        ]
        if !optionShape.rules.isEmpty { schema.append("allOf", .array(optionShape.rules)) }
        return schema
    }
}

extension SecretOption {
    /// The JSON Schema of the option in an application document.
    ///
    /// The value is an object with the environment variable of the secret, or `null`. Documents of earlier versions may
    /// have the secret itself.
    fileprivate var schema: JSONObject {
        let text: JSONObject = [
            "type": .string("string"), "pattern": .string(pattern), "deprecated": .bool(true),
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
