package import Description
package import Domain
package import Encodings
import Mapping
package import Providers

/// The smallest application document with which logins work.
///
/// It has an API key, an app at one provider, and a mapping of the fields `email` and `name`, if the provider has them.
package struct FirstDocument: Sendable {
    package let json: JSONValue
    /// The environment variables that the document names, for the key and for the app secret.
    package let variables: (key: String, secret: String)

    /// Creates the document for an application and an app at a provider.
    ///
    /// - Throws: The problem of the app's id, if the provider kind has no such ids.
    package init(
        of application: ApplicationID,
        with app: String,
        at kind: any ProviderKind
    ) throws(DocumentProblems) {
        let terms = kind.appTerms
        guard terms.idRule.allows(app) else {
            throw DocumentProblems(JSONPointer(), "the id of the app \(terms.idRule.text)")
        }
        var names = VariableNames(of: application)
        variables = (names.next(application.text, "API_KEY"), names.next(kind.name.text, "APP_SECRET"))
        func variable(_ name: String) -> JSONValue { .object(["env": .string(name)]) }
        let mapped = ["email", "name"].filter(kind.fields.names.contains)
        json = .object([
            "application": .string(application.text),
            "keys": .array([.object(["label": .string("app"), "key": variable(variables.key)])]),
            "providers": .object([
                kind.name.text: .object([
                    "apps": .array([.object([terms.id: .string(app), terms.secret: variable(variables.secret)])])
                ])
            ]),
            "mapping": .object([
                kind.name.text: .object(JSONObject(mapped.map { JSONObject.Member($0, .string($0)) }))
            ]),
        ])
    }
}
