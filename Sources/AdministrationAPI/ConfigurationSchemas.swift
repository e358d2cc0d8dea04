import Description
import Domain
import EmbeddedFiles
import Encodings
import HTTP

/// The schemas of an application's configuration: settings, providers, properties.
///
/// They come from the JSON Schema of application documents. Where a document names an environment variable, a request
/// has a secret.
enum ConfigurationSchemas {
    /// A schema within the JSON Schema.
    enum Name {
        case settings
        case property
        /// The options of a provider kind.
        case provider(kind: String, secret: Schema)

        fileprivate var path: [String] {
            switch self {
            case .settings: ["properties", "settings"]
            case .property: ["$defs", "property"]
            case .provider(let kind, _): ["properties", "providers", "properties", kind]
            }
        }
    }

    /// Returns a schema of application documents, in which every member with a default is optional.
    static func schema(_ name: Name) -> Schema {
        var references: [String: Schema] = [:]
        if case .provider(_, let secret) = name { references["secret"] = secret }
        return Schema(reading: value(name.path), definitions: definitions, references: references)
    }

    /// The provider kinds.
    static var kinds: [String] { value(["properties", "providers", "properties"]).memberNames }

    private static let document: JSONValue = {
        guard let document = try? JSONParser.parse(EmbeddedFiles.applicationSchema, limits: .stored) else {
            preconditionFailure("mappings/application.schema.json is no JSON")
        }
        return document
    }()

    private static var definitions: JSONObject { value(["$defs"]).object ?? JSONObject() }

    private static func value(_ path: [String]) -> JSONValue {
        path.reduce(document) { $0.object?[$1] ?? .null }
    }
}

extension Schema {
    /// The settings in a document or a request; an absent setting has its default.
    static let settingsDocument: Schema = {
        let settings = ConfigurationSchemas.schema(.settings)
        return settings.adding(optional: ["secondFactor": settings["secondFactor"].named("SecondFactorSettings")])
            .named("SettingsDocument")
    }()

    static let settings = settingsDocument.whole().described("All of them.").named("Settings")

    static let entry = Schema.object(
        [
            "from": .string.length(1...1024).described("A path into the profile, or a template."),
            "to": .propertyName,
        ],
        optional: [
            "type": .propertyType,
            "sync": .synchronisation,
            "required": .boolean,
            "default": .any.described("The value when the profile lacks it."),
            "whenMissing": .oneOf("keep", "clear"),
            "transform": .any.described("A transform, or a list of them; see mapping.md."),
        ]
    ).named("Entry")

    /// The condition for a mapping entry to write.
    static let synchronisation = Schema.oneOf("always", "firstLogin", "ifEmpty", "untilEdited")

    // MARK: Providers

    /// A provider in a response.
    static let provider = Schema.either(
        ConfigurationSchemas.kinds.map { kind in
            options(of: kind, secret: storedSecret, token: storedToken, isStored: true).adding(["warnings": .strings])
                .whole(but: "kind").named(capitalized(kind))
        }
    ).named("Provider")

    static let providerDocument = Schema.either(documents).named("ProviderDocument")

    static let providerPatch = Schema.either(
        ConfigurationSchemas.kinds.map { kind in
            let document = document(of: kind)
            return document.patch.adding(optional: ["kind": document["kind"]])
                .described("A member that is `null` returns to its default.").named(capitalized(kind) + "Patch")
        }
    ).named("ProviderPatch")

    /// The providers of an application document.
    static let providers: Schema = {
        let kinds = ConfigurationSchemas.kinds.map { kind in
            Property(kind, document(of: kind).without("warnings"), isRequired: false)
        }
        return Schema.object().adding(kinds)
            .open(to: Schema.either(documents).rule("required", .array([.string("kind")])))
            .providerNames
            .described(
                """
                By the names that the application calls them; one that is not called as its kind is says which that \
                is.
                """
            )
    }()

    private static let documents = ConfigurationSchemas.kinds.map { kind in
        document(of: kind).named(capitalized(kind) + "Document")
    }

    private static func document(of kind: String) -> Schema {
        options(of: kind, secret: givenSecret, token: givenToken, isStored: false)
            .adding(optional: ["warnings": .strings.described("Ignored: what was read may be sent back.")])
    }

    private static func capitalized(_ kind: String) -> String { kind.prefix(1).uppercased() + kind.dropFirst() }

    /// Returns the options of a kind, with the schemas for app secrets and for the verify token.
    private static func options(of kind: String, secret: Schema, token: Schema, isStored: Bool) -> Schema {
        let options = ConfigurationSchemas.schema(.provider(kind: kind, secret: secret))
        let apps = options["apps"].mapElements { app in
            app.mapProperties { member in
                guard member.schema.definition === secret.definition else { return member }
                return Property(member.name, secret, isRequired: isStored)
            }
        }
        return options.adding(optional: ["apps": apps]).mapProperties { option in
            let schema =
                switch option.name {
                case "webhookVerifyToken": token
                case "redirectUris", "returnUrls": option.schema.mapElements { $0.named("RedirectTarget") }
                default: option.schema
                }
            return Property(option.name, schema, isRequired: option.isRequired)
        }
    }

    // MARK: Secrets

    static let givenSecret = given(.string.length(1...256)).described(
        """
        The secret itself, as a text or as `value`. Left out, `null`, or as it was read (`set` or `env`), the stored \
        one stays.
        """
    ).named("GivenSecret")

    private static let givenToken = given(.string.pattern("^[!-~]{16,128}$")).described(
        """
        What Facebook repeats when it sets up the webhook, as a text or as `value`. Left out, or as it was read (`set` \
        or `env`), the stored one stays; `null` removes it.
        """
    ).named("VerifyToken")

    /// Returns the schema of a secret in a request: a text, or an object in the form of responses.
    private static func given(_ text: Schema) -> Schema {
        either([
            text,
            .object(optional: [
                "value": text, "set": .boolean, "changed": .moment.nullable, "keyId": .string.nullable, "env": .string,
            ]),
        ]).nullable.secret
    }

    private static let storedSecret = Schema.object(
        ["set": .boolean],
        optional: [
            "changed": .moment.nullable,
            "keyId": .string.nullable.described("Names the master key that it is under."),
        ]
    ).named("StoredSecret")

    private static let storedToken = Schema.object(
        ["set": .boolean],
        optional: [
            "changed": .moment.nullable.described("Null when it was set before version 5 of the schema."),
            "keyId": .string.nullable.described(
                """
                Names the master key that it is under; null while it is stored as it is, from before version 5 of the \
                schema.
                """
            ),
        ]
    ).nullable.described("What Facebook repeats when it sets up the webhook; null when there is none.")
}
