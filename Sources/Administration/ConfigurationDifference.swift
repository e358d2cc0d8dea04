package import Description
package import Domain
import Encodings
import Mapping
import Providers
package import Store

/// Computes the diff between the stored and the desired configuration of an application.
///
/// Every change of a configuration passes here, whether by documents, REST or commands. The checks here therefore apply
/// to all changes.
package enum ConfigurationDifference {
    /// Returns the steps from the stored to the desired application.
    ///
    /// Each step describes itself, for the audit log and for operators who read a plan. The description has `•••` in
    /// place of a secret, and the label in place of a key.
    ///
    /// - Parameters:
    ///   - stored: The stored application; nil for a new one.
    ///   - desired: The desired application. Its new secrets are already encrypted.
    ///   - columns: The columns that the users table has in the database; empty for a new application.
    /// - Returns: The steps in an order in which each step works; empty if nothing changes.
    /// - Throws: All problems, each with a JSON pointer into an application document. If the client sent only a part of
    ///   a document, `moved(from:to:)` converts the pointers.
    package static func changes(
        from stored: StoredApplication?,
        to desired: DesiredApplication,
        columns: [LiveColumn]
    ) throws(DocumentProblems) -> [PlannedChange] {
        let problems = problems(from: stored, to: desired, columns: columns)
        guard problems.isEmpty else { throw problems }
        let names = desired.providerNames(beside: stored)
        let steps =
            ApplicationSteps.steps(from: stored, to: desired)
            + KeySteps.steps(from: stored?.keys ?? [], to: desired.keys)
            + names.flatMap { name in
                ProviderSteps.steps(
                    at: name,
                    desired.kinds,
                    from: stored?.providers[name],
                    to: desired.providers[name]
                )
            }
            + PropertySteps.stepsBeforeMapping(from: stored, to: desired)
            + names.flatMap { MappingSteps.steps(for: $0, from: stored, to: desired) }
            + PropertySteps.stepsBehindMapping(from: stored, to: desired)
        // While the users are moved, it is not clear in which database the other steps would run.
        let aboutUsers = steps.count { $0.change.touchesUsers(of: stored) }
        guard stored?.database == desired.database || stored == nil || aboutUsers == 1 else {
            throw DocumentProblems(
                JSONPointer() / "database",
                "cannot change together with properties or identityProperty: change it alone"
            )
        }
        return steps
    }

    /// Returns the step that deletes an application with all its contents.
    package static func deletion(of stored: StoredApplication) -> [PlannedChange] {
        [
            PlannedChange(
                .delete,
                action: "application.delete",
                target: nil,
                from: .object(["name": .string(stored.name), "schema": .string(stored.schema)]),
                to: nil
            )
        ]
    }
}

extension DesiredApplication {
    /// Returns the names of all stored and desired providers and mappings, in a fixed order.
    fileprivate func providerNames(beside stored: StoredApplication?) -> [ProviderName] {
        var names = Set(providers.keys).union(mappings.keys)
        if let stored { names.formUnion(Set(stored.providers.keys).union(stored.mappings.keys)) }
        return names.sorted { $0.text < $1.text }
    }
}

extension ConfigurationDifference {
    /// Returns all problems of the desired application, each with its position in an application document.
    ///
    /// - Parameters:
    ///   - stored: The stored application; nil for a new one.
    ///   - desired: The desired application.
    ///   - columns: The columns that the users table has in the database; empty for a new application.
    /// - Returns: The problems; empty when the desired application is valid.
    package static func problems(
        from stored: StoredApplication?,
        to desired: DesiredApplication,
        columns: [LiveColumn]
    ) -> DocumentProblems {
        var problems = DocumentProblems()
        let document = JSONPointer()
        if !(1...200).contains(desired.name.utf8.count) {
            problems.add(document / "name", "must be a text of 1 to 200 bytes")
        }
        checkSchema(stored, desired, &problems)
        if desired.settings.sessionIdleSeconds > desired.settings.sessionAbsoluteSeconds {
            problems.add(
                document / "settings" / "sessionIdleSeconds",
                "must not be longer than sessionAbsoluteSeconds"
            )
        }
        checkIdentityProperty(desired, at: document / "settings" / "identityProperty", &problems)
        checkPasswordSource(desired, at: document / "settings" / "passwordSource", &problems)
        checkKeys(desired, at: document / "keys", &problems)
        let count = desired.providers.count
        // An application that already exceeds the limit can still change, but cannot get more providers.
        if count > max(DesiredApplication.maxProviders, stored?.providers.count ?? 0) {
            problems.add(
                document / "providers",
                "an application has at most \(DesiredApplication.maxProviders), and these are \(count)"
            )
        }
        for (name, provider) in desired.providers.sorted(by: { $0.key.text < $1.key.text }) {
            let place = document / "providers" / name.text
            let current = stored?.providers[name]
            if current == nil, name.isReserved {
                problems.add(place, "the name \(name) is reserved for the service: give the provider another one")
            }
            if let kind = current?.kind ?? stored?.providerKinds[name], kind != provider.kind {
                problems.add(
                    place / "kind",
                    "cannot change: identities of \(name) have the kind \(kind); use another name"
                )
            }
            // If only a later version knows the kind, the provider is unchanged: no request to this version can have
            // changed it.
            guard let kind = desired.kinds.named(provider.kind) else { continue }
            checkProvider(provider, of: kind, current, at: place, &problems)
        }
        checkProperties(stored, desired, at: document / "properties", &problems)
        let kept = columns.filter { column in
            // Columns of changed properties are left out: a step will adapt these columns to the declarations.
            stored?.properties.contains { old in
                old.name.text.hasSameBytes(as: column.name) && !desired.properties.contains(old)
            } != true
        }
        checkColumns(kept, desired.properties, at: document / "properties", &problems)
        // A configured provider accepts logins. A mapping without a provider still names the fields that the operator
        // wants.
        for name in Set(desired.providers.keys).union(desired.mappings.keys).sorted(by: { $0.text < $1.text }) {
            let mapping = desired.mappings[name] ?? .array([])
            guard let kind = desired.kinds.named(desired.providers[name]?.kind ?? name) else {
                // When a provider is removed, an empty mapping stays. It keeps the revisions.
                guard desired.providers[name] == nil, mapping != .array([]) else { continue }
                problems.add(
                    document / "mapping" / name.text,
                    "belongs to a provider that the application does not have"
                )
                continue
            }
            problems.add(
                MappingCheck.problems(
                    of: mapping,
                    fields: kind.fields,
                    properties: desired.properties,
                    columns: kept
                ),
                ofMappingAt: document / "mapping" / name.text
            )
        }
        return problems
    }

    private static func checkSchema(
        _ stored: StoredApplication?,
        _ desired: DesiredApplication,
        _ problems: inout DocumentProblems
    ) {
        let place = JSONPointer() / "schema"
        if let stored {
            guard !stored.schema.hasSameBytes(as: desired.schema) else { return }
            problems.add(
                place,
                "cannot change: the application's users are in the schema \(stored.schema)"
            )
        } else if ApplicationID(desired.schema) == nil {
            problems.add(place, "must be 1 to 63 letters, digits, _ or -, beginning with a letter or digit")
        } else if ["federation", "information_schema", "public"].contains(desired.schema)
            || desired.schema.hasPrefix("pg_")
        {
            problems.add(
                place,
                "cannot be \(desired.schema), which PostgreSQL or this service uses; choose another name"
            )
        }
    }

    private static func checkIdentityProperty(
        _ desired: DesiredApplication,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        let name = desired.settings.identityProperty
        // `checkProperties` checks built-in properties.
        guard !name.isBuiltIn else { return }
        guard let property = desired.properties.first(where: { $0.name == name }) else {
            return problems.add(
                place,
                "is \(name), the login name, and this property does not exist: declare it, or keep it"
            )
        }
        guard ![.string, .text].contains(property.type) else { return }
        problems.add(place, "is \(name), the login name: it must be of type STRING or TEXT")
    }

    /// Adds a problem if no index serves the search for a user by login name, which a password source needs.
    private static func checkPasswordSource(
        _ desired: DesiredApplication,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        let name = desired.settings.identityProperty
        guard desired.settings.passwordSource.isOn, name != .email,
            let property = desired.properties.first(where: { $0.name == name }), !property.indexed
        else { return }
        problems.add(place, "needs an index of \(name), the login name: set indexed of this property to true")
    }

    private static func checkKeys(
        _ desired: DesiredApplication,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        if desired.keys.count > DesiredApplication.maxKeys {
            problems.add(place, "must be at most \(DesiredApplication.maxKeys)")
            return
        }
        for (index, key) in desired.keys.enumerated() {
            let others = desired.keys[..<index]
            if !(1...100).contains(key.label.utf8.count) {
                problems.add(place / index / "label", "must be a text of 1 to 100 bytes")
            } else if others.contains(where: { $0.label.hasSameBytes(as: key.label) }) {
                problems.add(place / index / "label", "is used twice")
            }
            if !key.hash.isEmpty, others.contains(where: { $0.hash == key.hash }) {
                problems.add(place / index / "key", "is the same as the key of another label; each needs its own key")
            }
        }
    }

    private static func checkProvider(
        _ provider: DesiredApplication.Provider,
        of kind: any ProviderKind,
        _ stored: StoredApplication.Provider?,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        kind.check(provider.options, at: place, problems: &problems)
        let apps = place / "apps"
        if provider.apps.count > DesiredApplication.maxApps {
            problems.add(apps, "must be at most \(DesiredApplication.maxApps)")
            return
        }
        if provider.enabled && provider.apps.isEmpty && kind.needsApp(provider.options) {
            problems.add(
                apps,
                "must list an app, or enabled must be false: without app id and secret no token is accepted"
            )
        }
        for (index, app) in provider.apps.enumerated() {
            if provider.apps[..<index].contains(where: { $0.id == app.id }) {
                problems.add(apps / index / kind.appTerms.id, "is used twice")
            } else if case .unchanged = app.secret,
                stored?.apps.contains(where: { $0.id == app.id }) != true
            {
                problems.add(
                    apps / index / kind.appTerms.secret,
                    """
                    is required: none is stored for this app. Only a document for `federation apply` may have \
                    {"env": …}
                    """
                )
            }
        }
    }

    private static func checkProperties(
        _ stored: StoredApplication?,
        _ desired: DesiredApplication,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        let count = desired.properties.count { !$0.name.isBuiltIn }
        if count > DesiredApplication.maxProperties {
            problems.add(
                place,
                "an application has at most \(DesiredApplication.maxProperties), and these are \(count)"
            )
            return
        }
        for builtIn in Property.builtIn where !desired.properties.contains(where: { $0.name == builtIn.name }) {
            problems.add(place / builtIn.name.text, "always exists and cannot be removed or renamed")
        }
        var seen: Set<PropertyName> = []
        for property in desired.properties {
            let place = place / property.name.text
            if !seen.insert(property.name).inserted { problems.add(place, "exists already") }
            if property.name.isReserved { problems.add(place, "is reserved for the system") }
            if property.indexed, property.type == .json {
                problems.add(place / "indexed", "must be false: JSON properties cannot be indexed")
            }
            guard let old = desired.formerly(property.name, in: stored) else { continue }
            checkType(of: property, replacing: old.type, at: place / "type", &problems)
        }
        for rename in desired.renamed {
            let place = place / rename.to.text
            if stored?.dynamicNames.contains(rename.to) == true {
                problems.add(
                    place,
                    "is the name of an undeclared property that clients have written; declare that one instead"
                )
            } else if stored?.properties.contains(where: { $0.name == rename.to }) == true,
                desired.properties.count(where: { $0.name == rename.to }) == 1
            {
                problems.add(place, "already exists; remove it in a separate change first")
            }
        }
    }

    /// Checks that each existing column has the PostgreSQL type that its property needs.
    ///
    /// A missing column is no problem, since the declaration adds it.
    private static func checkColumns(
        _ columns: [LiveColumn],
        _ properties: [Property],
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        for property in properties {
            guard let column = columns.first(where: { $0.name.hasSameBytes(as: property.name.text) }),
                !column.sqlType.hasSameBytes(as: property.type.sqlType)
            else { continue }
            problems.add(
                place / property.name.text / "type",
                """
                is \(property.type.rawValue), which needs a column of type \(property.type.sqlType), but the column in \
                the users table has another type
                """
            )
        }
    }

    private static func checkType(
        of property: Property,
        replacing old: PropertyType,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        guard property.type != old, property.name.isBuiltIn || !old.widens(to: property.type) else { return }
        guard !property.name.isBuiltIn else {
            problems.add(place, "must be \(old.rawValue): the property always exists")
            return
        }
        let wider = PropertyType.allCases.filter { $0 != old && old.widens(to: $0) }.map(\.rawValue)
        let choice = wider.isEmpty ? "" : " or become " + wider.joined(separator: ", ")
        problems.add(place, "must stay \(old.rawValue)\(choice): the column holds values of that type")
    }
}
