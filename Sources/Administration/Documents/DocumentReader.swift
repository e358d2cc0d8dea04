import Applications
import Description
import Domain
import Encodings
import Providers

/// A reader of the parts of an application document.
///
/// The reader collects errors in the structure of the document. `ConfigurationDifference` has the checks that also
/// apply to changes by REST and by commands.
struct DocumentReader {
    let origin: ApplicationDocument.Origin
    var problems = DocumentProblems()

    init(origin: ApplicationDocument.Origin) {
        self.origin = origin
    }

    /// Reads the database of an application's users.
    mutating func database(_ value: JSONValue?, at place: JSONPointer) -> ApplicationDocument.GivenDatabase {
        guard let value else { return .unsaid }
        guard !value.isNull else { return .main }
        let name = value.object?.members.count == 1 ? value.object?["env"]?.string : nil
        let variable = required(name.flatMap(DatabaseVariable.init), at: place, DatabaseVariable.rule)
        return variable.map { .own($0) } ?? .unsaid
    }

    mutating func keys(_ value: JSONValue?, at place: JSONPointer) -> [ApplicationDocument.Key] {
        elements(value, at: place).map { index, element in
            let place = place / index
            let object = object(element, at: place, known: ["label", "key", "server"])
            let label = object.flatMap { required($0["label"]?.string, at: place / "label", "must be a text") }
            let key = object.flatMap { secret($0["key"], at: place / "key") }
            let server = bool(object?["server"], at: place / "server") ?? false
            // A key that cannot be read keeps its position, for the problems of later keys. No JSON text contains NUL,
            // so the placeholder label is unique.
            return ApplicationDocument.Key(label: label ?? "\0\(index)", key: key ?? .unreadable, server: server)
        }
    }

    mutating func providers(
        _ value: JSONValue?,
        _ kinds: ProviderKinds,
        at place: JSONPointer
    ) -> [ProviderName: ApplicationDocument.Provider] {
        var read: [ProviderName: ApplicationDocument.Provider] = [:]
        guard let value else { return read }
        guard let providers = value.object else {
            problems.add(place, "must be an object of provider names and their settings")
            return read
        }
        for member in providers.members {
            guard let name = providerName(member.key, at: place) else { continue }
            read[name] = provider(member.value, named: name, kinds, at: place / member.key)
        }
        return read
    }

    /// Reads the name of a provider.
    ///
    /// The operator chooses the name.
    private mutating func providerName(_ text: String, at place: JSONPointer) -> ProviderName? {
        required(
            ProviderName(text).flatMap { $0 == .password ? nil : $0 },
            at: place / text,
            "a provider's name is 1 to 32 of a to z, 0 to 9 and -, beginning with a letter, and not password"
        )
    }

    /// Reads a provider.
    ///
    /// The member `kind` names the provider kind. If the provider has the name of its kind, the member is optional.
    mutating func provider(
        _ value: JSONValue,
        named name: ProviderName,
        _ kinds: ProviderKinds,
        at place: JSONPointer
    ) -> ApplicationDocument.Provider? {
        let given = value.object?["kind"]
        let kind = given == nil ? kinds.named(name) : given?.string.flatMap(ProviderName.init).flatMap(kinds.named)
        guard let kind else {
            let known = kinds.names.map(\.text)
            let names = known.joined(separator: ", ")
            let hint = NearestName.hint(for: given?.string ?? name.text, among: known)
            problems.add(
                given == nil ? place : place / "kind",
                given == nil
                    ? "is not known here\(hint); known: \(names), or give the kind of the provider as kind"
                    : "must be one of \(names)\(hint)"
            )
            return nil
        }
        guard let object = object(value, at: place, known: ["kind", "enabled", "apps"] + kind.allOptionNames) else {
            return nil
        }
        let enabled = bool(object["enabled"], at: place / "enabled") ?? true
        let options = kind.options(in: object, at: place, problems: &problems)
        var secrets: [String: ApplicationDocument.GivenSecret] = [:]
        for option in kind.secretOptions {
            secrets[option.name] = secret(option, object[option.name], at: place / option.name)
        }
        let before = problems.problems.count
        let apps = elements(object["apps"], at: place / "apps").compactMap { index, element in
            app(element, in: kind.appTerms, at: place / "apps" / index, orElse: Self.unreadable(index))
        }
        // An app that cannot be read disables the provider here. Otherwise a missing app would be reported, too.
        let areRead = problems.problems.count == before
        return ApplicationDocument.Provider(
            kind: kind.name,
            enabled: enabled && areRead,
            options: options,
            secrets: secrets,
            apps: apps
        )
    }

    /// Reads a secret option.
    ///
    /// If a request omits it, the result is nil, and the stored secret stays. A file that omits it deletes the stored
    /// secret.
    private mutating func secret(
        _ option: SecretOption,
        _ value: JSONValue?,
        at place: JSONPointer
    ) -> ApplicationDocument.GivenSecret? {
        guard let value else { return origin == .file ? .removed : nil }
        guard !value.isNull else { return .removed }
        // A file may contain the secret itself. Files for earlier versions do.
        let given = value.string.map { .value(Secret($0)) } ?? secret(value, at: place) ?? .unreadable
        guard case .value(let text) = given, let problem = option.problem(of: text) else { return given }
        problems.add(place, problem)
        return .unreadable
    }

    private mutating func app(
        _ value: JSONValue,
        in terms: AppTerms,
        at place: JSONPointer,
        orElse unreadable: ProviderAppID?
    ) -> ApplicationDocument.Provider.App? {
        let object = object(value, at: place, known: [terms.id, terms.secret] + (terms.configID.map { [$0] } ?? []))
        let id = object.flatMap { object in
            required(
                object[terms.id]?.string.flatMap { terms.idRule.allows($0) ? ProviderAppID($0) : nil },
                at: place / terms.id,
                terms.idRule.text
            )
        }
        let given = object.flatMap { secret($0[terms.secret], at: place / terms.secret) }
        let configID = terms.configID.flatMap { name -> String? in
            guard let value = object?.present(name) else { return nil }
            return required(
                value.string.flatMap { terms.idRule.allows($0) ? $0 : nil },
                at: place / name,
                terms.idRule.text
            )
        }
        return (id ?? unreadable).map { id in
            ApplicationDocument.Provider.App(id: id, secret: given ?? .unreadable, configID: configID)
        }
    }

    /// Returns a placeholder for the id of an app that cannot be read.
    ///
    /// No app has this id. With the placeholder, the app keeps its position in the list, and the problems of later apps
    /// name the right positions.
    private static func unreadable(_ index: Int) -> ProviderAppID? { ProviderAppID("-unreadable-\(index)") }

    mutating func properties(_ value: JSONValue?, at place: JSONPointer) -> [Property] {
        var properties = Property.builtIn
        guard let value else { return properties }
        guard let members = value.object?.members else {
            problems.add(place, "must be an object of property names and their declarations")
            return properties
        }
        for member in members {
            let place = place / member.key
            let name = required(
                PropertyName(member.key),
                at: place,
                "a property's name is 1 to 63 ASCII letters, digits or _, beginning with a letter"
            )
            let builtIn = Property.builtIn.firstIndex { $0.name == name }
            // A type that cannot be read becomes JSON. Every mapping entry may write JSON, so the type is the only
            // problem.
            let type = builtIn.map { Property.builtIn[$0].type } ?? .json
            let base = name.map { Property(name: $0, type: type) }
            let property = Property.description.read(member.value, at: place, onto: base, problems: &problems)
            guard name != nil, member.value.object != nil else { continue }
            if let builtIn { properties[builtIn] = property } else { properties.append(property) }
        }
        return properties
    }

    mutating func mappings(_ value: JSONValue?, at place: JSONPointer) -> [ProviderName: JSONValue] {
        var mappings: [ProviderName: JSONValue] = [:]
        guard let value else { return mappings }
        guard let providers = value.object else {
            problems.add(place, "must be an object of provider names and their mappings")
            return mappings
        }
        for member in providers.members {
            if let name = providerName(member.key, at: place) { mappings[name] = member.value }
        }
        return mappings
    }

    // MARK: Shapes

    /// Reads an object, and reports each member with an unknown name as a problem.
    ///
    /// Otherwise a misspelt member would be ignored silently.
    mutating func object(_ value: JSONValue, at place: JSONPointer, known: [String]) -> JSONObject? {
        guard let object = value.object else {
            problems.add(place, "must be an object")
            return nil
        }
        for member in object.members where !known.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: place / member.key, among: known)
        }
        return object
    }

    /// Reads the elements of a list with their positions; none when the list is absent.
    private mutating func elements(_ value: JSONValue?, at place: JSONPointer) -> [(Int, JSONValue)] {
        guard let value else { return [] }
        guard let elements = value.array else {
            problems.add(place, "must be a list")
            return []
        }
        return Array(elements.enumerated())
    }

    mutating func required<Value>(_ value: Value?, at place: JSONPointer, _ rule: String) -> Value? {
        if value == nil { problems.add(place, rule) }
        return value
    }

    mutating func text(_ value: JSONValue?, at place: JSONPointer) -> String? {
        guard let value else { return nil }
        return required(value.string, at: place, "must be a text")
    }

    mutating func bool(_ value: JSONValue?, at place: JSONPointer) -> Bool? {
        guard let value else { return nil }
        return required(value.bool, at: place, "must be true or false")
    }

    /// Reads a word of an enumeration; nil if the word is absent or wrong.
    mutating func word<Words>(
        _ words: Words.Type,
        _ value: JSONValue?,
        at place: JSONPointer,
        isRequired: Bool = false
    ) -> Words? where Words: RawRepresentable<String> & CaseIterable {
        guard value != nil || isRequired else { return nil }
        let found = value?.string.flatMap { text in Words.allCases.first { $0.rawValue.hasSameBytes(as: text) } }
        return required(found, at: place, "must be one of " + Words.allCases.map(\.rawValue).joined(separator: ", "))
    }

    private mutating func secret(_ value: JSONValue?, at place: JSONPointer) -> ApplicationDocument.GivenSecret? {
        switch origin {
        case .file:
            let name = value?.object?.members.count == 1 ? value?.object?["env"]?.string : nil
            let rule =
                name?.hasPrefix(ServiceVariable.prefix) == true
                ? "must name a variable that does not begin with \(ServiceVariable.prefix)"
                : "must be {\"env\": \"NAME\"}, the environment variable that holds the secret"
            return required(name.flatMap(Self.variable).map { .variable($0) }, at: place, rule)
        case .request:
            guard let value, !value.isNull else { return .stored() }
            if let text = value.string ?? value.object?["value"]?.string { return .value(Secret(text)) }
            // A client may send back what it read: the name of a variable, or the note that the secret is set.
            let variable = value.object?["env"]?.string.flatMap(Self.variable)
            let isAsRead = value.object?["env"] != nil || value.object?["set"] != nil
            return required(
                isAsRead ? .stored(variable: variable) : nil,
                at: place,
                "must be a text or {\"value\": \"…\"}; leave it out to keep the stored value"
            )
        }
    }

    private static func variable(_ name: String) -> String? {
        guard (1...128).contains(name.utf8.count), !name.hasPrefix(ServiceVariable.prefix),
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") })
        else { return nil }
        return name
    }
}
