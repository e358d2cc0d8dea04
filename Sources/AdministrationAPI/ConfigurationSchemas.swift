import Description
import Domain
import EmbeddedFiles
import Encodings
import HTTP

/// The schemas of an application's configuration: settings, providers, properties.
///
/// The schemas come from the JSON Schema of application documents. Where a document has the name of an environment
/// variable, a request has the secret itself.
enum ConfigurationSchemas {
    /// A part of the JSON Schema of application documents.
    enum Name {
        case settings
        case property
        /// The options of a provider kind. `secret` is the schema of an app's secret.
        case provider(kind: String, secret: Schema)

        fileprivate var path: [String] {
            switch self {
            case .settings: ["properties", "settings"]
            case .property: ["$defs", "property"]
            case .provider(let kind, _): ["properties", "providers", "properties", kind]
            }
        }
    }

    /// Returns the schema of a part of application documents.
    ///
    /// Every member that has a default is optional.
    static func schema(_ name: Name) -> Schema {
        var references: [String: Schema] = [:]
        if case .provider(_, let secret) = name { references["secret"] = secret }
        return Schema(reading: value(name.path), definitions: definitions, references: references)
    }

    /// The names of the provider kinds.
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
    /// The schema of an application's settings in a document or a request.
    ///
    /// An absent setting has its default.
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
            "default": .any.described("The value if the profile does not have it."),
            "whenMissing": .oneOf("keep", "clear"),
            "transform": .any.described("A transform, or a list of transforms. See mapping.md."),
        ]
    ).named("Entry")

    /// The schema of `sync`: the condition under which a mapping entry writes its property.
    static let synchronisation = Schema.oneOf("always", "firstLogin", "ifEmpty", "untilEdited")

    // MARK: Providers

    /// The schema of a provider in a response.
    static let provider = Schema.either(
        ConfigurationSchemas.kinds.map { kind in
            options(of: kind, secret: storedSecret, token: storedToken, key: storedKey, isStored: true).adding([
                "warnings": .strings
            ])
            .whole(but: "kind").named(capitalized(kind))
        }
    ).named("Provider")

    static let providerDocument = Schema.either(documents).named("ProviderDocument")

    static let providerPatch = Schema.either(
        ConfigurationSchemas.kinds.map { kind in
            let document = document(of: kind)
            return document.patch.adding(optional: ["kind": document["kind"]])
                .described("`null` resets a member to its default.").named(capitalized(kind) + "Patch")
        }
    ).named("ProviderPatch")

    /// The schema of the providers of an application document.
    static let providers: Schema = {
        let kinds = ConfigurationSchemas.kinds.map { kind in
            Property(kind, document(of: kind).without("warnings"), isRequired: false)
        }
        return Schema.object().adding(kinds)
            .open(to: Schema.either(documents).rule("required", .array([.string("kind")])))
            .providerNames
            .described(
                "By the names in the application. A provider whose name is not its kind must give the kind."
            )
    }()

    private static let documents = ConfigurationSchemas.kinds.map { kind in
        document(of: kind).named(capitalized(kind) + "Document")
    }

    private static func document(of kind: String) -> Schema {
        options(of: kind, secret: givenSecret, token: givenToken, key: givenKey, isStored: false)
            .adding(optional: ["warnings": .strings.described("Ignored, so that you may send back what you read.")])
    }

    private static func capitalized(_ kind: String) -> String { kind.prefix(1).uppercased() + kind.dropFirst() }

    /// Returns the schema of a provider with the given provider kind.
    ///
    /// `secret` is the schema of an app's secret, `token` that of the webhook verify token, and `key` that of a private
    /// key. If `isStored` is true,
    /// the schema requires that each app has a secret.
    private static func options(
        of kind: String,
        secret: Schema,
        token: Schema,
        key: Schema,
        isStored: Bool
    ) -> Schema {
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
                case "privateKey": key
                case "redirectUris", "returnUrls": option.schema.mapElements { $0.named("RedirectTarget") }
                default: option.schema
                }
            return Property(option.name, schema, isRequired: option.isRequired)
        }
    }

    // MARK: Secrets

    static let givenSecret = given(.string.length(1...256)).described(
        """
        The secret, as a text or as `value`. If absent, `null`, or as it was read (`set` or `env`), the stored secret \
        is kept.
        """
    ).named("GivenSecret")

    private static let givenToken = given(.string.pattern("^[!-~]{16,128}$")).described(
        """
        The webhook verify token, as a text or as `value`. If absent, or as it was read (`set` or `env`), the stored \
        one is kept. `null` removes it.
        """
    ).named("VerifyToken")

    private static let givenKey = given(.string.length(50...4000)).described(
        """
        The private key in PEM, as a text or as `value`. If absent, or as it was read (`set` or `env`), the stored one is \
        kept. `null` removes it.
        """
    ).named("GivenKey")

    /// Returns the schema of a secret in a request.
    ///
    /// The secret is a text, or an object such as a response has in place of the secret.
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
            "keyId": .string.nullable.described("The id of the master key that encrypts it."),
        ]
    ).named("StoredSecret")

    private static let storedOption = Schema.object(
        ["set": .boolean],
        optional: [
            "changed": .moment.nullable.described("null if it was set before schema version 5."),
            "keyId": .string.nullable.described(
                """
                The id of the master key that encrypts it. null if it is stored unencrypted, from before schema \
                version 5.
                """
            ),
        ]
    ).nullable

    private static let storedToken = storedOption.described("The webhook verify token. null: none.")
    private static let storedKey = storedOption.described("The private key. null: none.")
}
