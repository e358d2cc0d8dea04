import Applications
import Domain
import Encodings
import Store

/// Values of the demo's application document, mappings/demo.json, that are wrong for any other application.
///
/// The check of the service warns an operator whose application still has one of them.
enum DemoValues {
    /// The demo values of settings, each with the path of the setting.
    ///
    /// A setting that is a list has the demo value only if the whole list is equal.
    static let settings: [(place: [String], value: JSONValue)] = [
        (["tokens", "audience"], .string("orders")),
        (["secondFactor", "passkeys", "rpId"], .string("localhost")),
        (["secondFactor", "passkeys", "origins"], .array([.string("http://localhost:3000")])),
        (["secondFactor", "sms", "countries"], .array([.string("+41"), .string("+49")])),
    ]
    /// The ids of the demo's apps at providers.
    static let apps = ["demoConsumerKey"]
    static let returnURL = "http://localhost:3000/done"

    /// Returns the settings, apps and options in which an application still has demo values.
    static func places(in application: StoredApplication) -> [String] {
        let parsed = try? SettingsDocument.parse(stored: application.settings)
        let document = parsed.map { SettingsDocument.document(of: $0) }
        let settings = settings.filter { entry in
            entry.place.reduce(document) { value, name in value?.object?[name] } == entry.value
        }.map { "settings." + $0.place.joined(separator: ".") }
        let providers = application.providers.sorted { $0.key.text < $1.key.text }.flatMap { name, provider in
            let urls = provider.options.object?["returnUrls"]?.array ?? []
            return (provider.apps.contains { apps.contains($0.id.text) } ? ["providers.\(name).apps"] : [])
                + (urls.contains(.string(returnURL)) ? ["providers.\(name).returnUrls"] : [])
        }
        return settings + providers
    }
}
