import Description
package import Encodings

/// The JSON Schema of mappings (draft 2020-12).
package enum MappingSchema {
    /// The JSON Schema definition `mapping`, and the definitions to which it refers, except `propertyName` and
    /// `propertyType`.
    package static let definitions =
        JSONValue(
            schema: ##"""
                {
                "mapping": {
                  "description": "Either a dictionary from fields to properties, or a list of entries, which have options.",
                  "if": {"type": "array"},
                  "then": {"maxItems": 256, "items": {"$ref": "#/$defs/entry"}},
                  "else": {
                    "type": "object",
                    "maxProperties": 256,
                    "propertyNames": {"$ref": "#/$defs/source"},
                    "additionalProperties": {"$ref": "#/$defs/propertyName"}
                  }
                },
                "entry": {
                  "type": "object",
                  "required": ["from", "to"],
                  "additionalProperties": false,
                  "properties": {
                    "from": {"$ref": "#/$defs/source"},
                    "to": {
                      "description": "The property: a declared one, or email or name. No property twice.",
                      "$ref": "#/$defs/propertyName"
                    },
                    "type": {
                      "description": "What values are converted to before they are stored; the property's type when absent.",
                      "anyOf": [{"$ref": "#/$defs/propertyType"}, {"type": "null"}]
                    },
                    "sync": {
                      "description": "When the property is written: `always` at every login, `firstLogin` at the one that creates the user, or that makes a guest one; linked to a user who is there, it fills what is empty, `ifEmpty` while it has no value, `untilEdited` while it holds what the mapping wrote last.",
                      "enum": ["always", "firstLogin", "ifEmpty", "untilEdited", null],
                      "default": "always"
                    },
                    "required": {
                      "description": "Whether a login fails when the profile lacks the value and there is no default.",
                      "type": ["boolean", "null"],
                      "default": false
                    },
                    "default": {"description": "The value when the profile lacks it; at most 4096 bytes as JSON."},
                    "whenMissing": {
                      "description": "Whether a value that is there stays or goes when a later profile lacks it; absent, it goes where the object is there that does not give it. Goes neither with a default nor with required; clear goes with sync always and untilEdited.",
                      "enum": ["keep", "clear", null]
                    },
                    "transform": {
                      "description": "What is done to the value before it is converted: one transform, or a list of them in their order.",
                      "anyOf": [
                        {"$ref": "#/$defs/transform"},
                        {"type": "array", "maxItems": 16, "items": {"$ref": "#/$defs/transform"}},
                        {"type": "null"}
                      ]
                    }
                  }
                },
                "source": {
                  "description": "A path into the profile, such as picture.data.url, or a template with paths in braces, such as \"{first_name} {last_name}\".",
                  "type": "string",
                  "maxLength": 1024,
                  "anyOf": [
                    {"maxLength": 128, "pattern": "^(?:https?://[A-Za-z0-9._~:/-]+|[A-Za-z_][A-Za-z0-9_:-]*)(?:\\.[A-Za-z_][A-Za-z0-9_:-]*){0,7}$"},
                    {
                      "pattern": "^(?:(?:[^{}\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]|\\{\\{|\\}\\})*\\{(?:https?://[A-Za-z0-9._~:/-]+|[A-Za-z_][A-Za-z0-9_:-]*)(?:\\.[A-Za-z_][A-Za-z0-9_:-]*){0,7}\\}){1,16}(?:[^{}\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]|\\{\\{|\\}\\})*$"
                    }
                  ],
                  "examples": ["email", "picture.data.url", "{first_name} {last_name}"]
                },
                "transform": {
                  "anyOf": [
                    {
                      "description": "trim takes white space off both ends, lowercase and uppercase change letters, first takes the first element of a list.",
                      "enum": ["trim", "lowercase", "uppercase", "first"]
                    },
                    {
                      "description": "A list as one text, with this between the elements.",
                      "type": "object",
                      "required": ["join"],
                      "additionalProperties": false,
                      "properties": {"join": {"type": "string", "maxLength": 1024}}
                    },
                    {
                      "description": "What the table says for the value; what is not in it becomes `else`, and without `else` the value lacks.",
                      "type": "object",
                      "required": ["lookup"],
                      "additionalProperties": false,
                      "properties": {
                        "lookup": {"type": "object", "maxProperties": 512, "additionalProperties": {"$ref": "#/$defs/plain"}},
                        "else": {"$ref": "#/$defs/plain"}
                      }
                    },
                    {
                      "description": "A text that spells a day by this pattern: yyyy, MM and dd once each, with punctuation or spaces.",
                      "type": "object",
                      "required": ["date"],
                      "additionalProperties": false,
                      "properties": {
                        "date": {
                          "type": "string",
                          "maxLength": 32,
                          "pattern": "^[ -/:-@\\[-`{-~]*(?:yyyy[ -/:-@\\[-`{-~]*MM[ -/:-@\\[-`{-~]*dd|yyyy[ -/:-@\\[-`{-~]*dd[ -/:-@\\[-`{-~]*MM|MM[ -/:-@\\[-`{-~]*yyyy[ -/:-@\\[-`{-~]*dd|MM[ -/:-@\\[-`{-~]*dd[ -/:-@\\[-`{-~]*yyyy|dd[ -/:-@\\[-`{-~]*yyyy[ -/:-@\\[-`{-~]*MM|dd[ -/:-@\\[-`{-~]*MM[ -/:-@\\[-`{-~]*yyyy)[ -/:-@\\[-`{-~]*$",
                          "examples": ["MM/dd/yyyy"]
                        }
                      }
                    }
                  ]
                },
                "plain": {"type": ["string", "number", "boolean", "null"], "maxLength": 1024}
                }
                """##
        ).object ?? [:]
}
