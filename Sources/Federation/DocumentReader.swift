import Identity
import Mapping

/// Reads the parts of an application document and gathers what is wrong with them.
struct DocumentReader {
    var problems = DocumentProblems()

    /// Graph's versions look like `v25.0`.
    static let defaultGraphVersion = "v25.0"

    mutating func required<Value>(_ value: Value?, _ place: String, _ rule: String) -> Value? {
        if value == nil { problems.add(place, rule) }
        return value
    }

    mutating func refuseUnknown(in object: JSONObject, at place: String, known: [String]) {
        for member in object.members where !known.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(Self.join(place, member.key), "is not known here; known are \(known.joined(separator: ", "))")
        }
    }

    mutating func text(_ value: JSONValue?, at place: String, bytes: ClosedRange<Int>) -> String? {
        guard let value else { return nil }
        guard let text = value.string, bytes.contains(text.utf8.count) else {
            problems.add(place, "must be a text of \(bytes.lowerBound) to \(bytes.upperBound) bytes")
            return nil
        }
        return text
    }

    mutating func bool(_ value: JSONValue?, at place: String, default: Bool) -> Bool {
        guard let value else { return `default` }
        guard let bool = value.bool else {
            problems.add(place, "must be true or false")
            return `default`
        }
        return bool
    }

    mutating func schema(_ value: JSONValue?, id: ApplicationID?) -> String {
        let taken = ["federation", "information_schema", "public"]
        let name: String
        if let value {
            guard let text = value.string, PropertyName(text) != nil else {
                problems.add("schema", "must be 1 to 63 letters, digits or _, beginning with a letter")
                return ""
            }
            name = text
        } else {
            name = id?.text ?? ""
        }
        if taken.contains(name) || name.hasPrefix("pg_") {
            problems.add(
                value == nil ? "application" : "schema",
                "cannot name the PostgreSQL schema \(name), which is taken; give another one under \"schema\""
            )
        }
        return name
    }

    mutating func keys(_ value: JSONValue?) -> [ApplicationDocument.Key] {
        guard let elements = list(value, at: "keys") else { return [] }
        var keys: [ApplicationDocument.Key] = []
        for (index, element) in elements.enumerated() {
            let place = "keys[\(index)]"
            guard let object = object(element, at: place, known: ["label", "key"]) else { continue }
            let label = required(object["label"]?.string, place + ".label", "must be a text")
            let variable = environmentVariable(object["key"], at: place + ".key")
            if let label, !(1...100).contains(label.utf8.count) {
                problems.add(place + ".label", "must be 1 to 100 bytes")
            } else if let label, keys.contains(where: { $0.label.hasSameBytes(as: label) }) {
                problems.add(place + ".label", "is used twice")
            }
            guard let label, let variable else { continue }
            keys.append(ApplicationDocument.Key(label: label, variable: variable))
        }
        return keys
    }

    mutating func facebook(_ value: JSONValue?) -> ApplicationDocument.Facebook? {
        guard let value, let providers = object(value, at: "providers", known: ["facebook"]),
            let settings = providers["facebook"]
        else { return nil }
        let place = "providers.facebook"
        guard let object = object(settings, at: place, known: ["enabled", "graphVersion", "proof", "apps"]) else {
            return nil
        }
        let enabled = bool(object["enabled"], at: place + ".enabled", default: true)
        let version =
            text(object["graphVersion"], at: place + ".graphVersion", bytes: 4...7) ?? Self.defaultGraphVersion
        if !Self.isGraphVersion(version) { problems.add(place + ".graphVersion", "must look like v25.0") }
        let proof = required(
            ProofForm(rawValue: text(object["proof"], at: place + ".proof", bytes: 1...10) ?? ProofForm.timed.rawValue),
            place + ".proof",
            "must be \"timed\" or \"classic\""
        )
        let apps = facebookApps(object["apps"], at: place + ".apps")
        if enabled && apps.isEmpty {
            problems.add(
                place + ".apps",
                "must name an app, or enabled must be false: without app id and secret no token is accepted"
            )
        }
        return ApplicationDocument.Facebook(
            enabled: enabled,
            graphVersion: version,
            proof: proof ?? .timed,
            apps: apps
        )
    }

    private mutating func facebookApps(_ value: JSONValue?, at place: String) -> [ApplicationDocument.Facebook.App] {
        var apps: [ApplicationDocument.Facebook.App] = []
        for (index, element) in (list(value, at: place) ?? []).enumerated() {
            let place = "\(place)[\(index)]"
            guard let object = object(element, at: place, known: ["appId", "appSecret"]) else { continue }
            let id = required(
                object["appId"]?.string.flatMap(FacebookAppID.init),
                place + ".appId",
                "must be a text of 1 to 32 digits"
            )
            let variable = environmentVariable(object["appSecret"], at: place + ".appSecret")
            guard let id, let variable else { continue }
            if apps.contains(where: { $0.id == id }) {
                problems.add(place + ".appId", "is used twice")
            } else {
                apps.append(ApplicationDocument.Facebook.App(id: id, secretVariable: variable))
            }
        }
        return apps
    }

    mutating func properties(_ value: JSONValue?) -> [Property] {
        var properties = Property.builtIn
        guard let value else { return properties }
        guard let members = value.object?.members else {
            problems.add("properties", "must be an object of name → declaration")
            return properties
        }
        for member in members {
            let place = "properties." + member.key
            guard let property = property(member, at: place) else { continue }
            guard let builtIn = properties.firstIndex(where: { $0.name == property.name }) else {
                properties.append(property)
                continue
            }
            if properties[builtIn].type != property.type {
                problems.add(
                    place + ".type",
                    "must be \(properties[builtIn].type.rawValue): the property always exists"
                )
            }
            properties[builtIn] = property
        }
        return properties
    }

    private mutating func property(_ member: JSONObject.Member, at place: String) -> Property? {
        guard let object = object(member.value, at: place, known: ["type", "required", "clientMappable"]) else {
            return nil
        }
        let name = required(
            PropertyName(member.key),
            place,
            "a property's name is 1 to 63 ASCII letters, digits or _, beginning with a letter"
        )
        let type = required(
            object["type"]?.string.flatMap(PropertyType.init(rawValue:)),
            place + ".type",
            "must be one of " + PropertyType.allCases.map(\.rawValue).joined(separator: ", ")
        )
        let isRequired = bool(object["required"], at: place + ".required", default: false)
        let clientMappable = bool(object["clientMappable"], at: place + ".clientMappable", default: false)
        guard let name, let type else { return nil }
        guard !name.isReserved else {
            problems.add(place, "is reserved for the system")
            return nil
        }
        return Property(name: name, type: type, required: isRequired, clientMappable: clientMappable)
    }

    /// Reads the mapping and holds it to the declared properties, so that one reading finds every problem of both.
    mutating func mapping(_ value: JSONValue?, of properties: [Property]) -> Mapping? {
        guard let value, let providers = object(value, at: "mapping", known: ["facebook"]),
            let document = providers["facebook"]
        else { return nil }
        for problem in MappingCheck.problems(of: document, properties: properties, columns: []) {
            problems.add("mapping.facebook", problem.message)
        }
        return try? Mapping(document)
    }

    // MARK: Shapes

    private mutating func list(_ value: JSONValue?, at place: String) -> [JSONValue]? {
        guard let value else { return nil }
        guard let elements = value.array, elements.count <= 100 else {
            problems.add(place, "must be a list of at most 100")
            return nil
        }
        return elements
    }

    private mutating func object(_ value: JSONValue, at place: String, known: [String]) -> JSONObject? {
        guard let object = value.object else {
            problems.add(place, "must be an object")
            return nil
        }
        refuseUnknown(in: object, at: place, known: known)
        return object
    }

    /// `{"env": "NAME"}`: secrets are never written into a document.
    private mutating func environmentVariable(_ value: JSONValue?, at place: String) -> String? {
        let name = value?.object?["env"]?.string
        guard let name, value?.object?.members.count == 1, (1...128).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") })
        else {
            problems.add(place, "must be {\"env\": \"NAME\"}, the environment variable that holds the secret")
            return nil
        }
        return name
    }

    private static func join(_ place: String, _ key: String) -> String {
        place.isEmpty ? key : place + "." + key
    }

    private static func isGraphVersion(_ text: String) -> Bool {
        let parts = text.utf8.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.first == UInt8(ascii: "v") && parts.count == 2
            && (1...3).contains(parts[0].count) && (1...2).contains(parts[1].count)
            && parts.allSatisfy { $0.allSatisfy(\.isASCIIDigit) }
    }
}
