package import Description
package import Encodings
import FoundationEssentials
package import Providers

/// The options of a known provider, as a document.
package protocol PresetDocument: Sendable {
    /// The name by which settings refer to the preset.
    var name: String { get set }
    /// The displayed name of the provider; nil for none.
    var title: String? { get set }
    /// How the server shows for which client it issued an access token; nil for the way of the kind.
    var tokenCheck: TokenClientCheck? { get set }
    /// How the server revokes tokens; nil for the way of the kind.
    var revocation: TokenRevocation? { get set }
    /// What an operator does at the provider and here, step by step.
    var setup: [String] { get set }
    /// Members of a profile, each with a sample of its value.
    var sample: JSONObject { get set }

    init()

    static var description: ObjectDescription<Self> { get }
    /// The presets that the service ships, in the order of docs/providers/README.md.
    static var shipped: Presets<Self> { get }
}

extension PresetDocument {
    /// Describes a document that has the members of all presets, and further ones of its kind.
    package static func describe(_ further: [Field<Self>]) -> ObjectDescription<Self> {
        let fields: [Field<Self>] = [
            Field("name", \.name, .text(PresetName.rule), "Name", "The name of the preset.", isRequired: true),
            SharedOptions.title(\.title, otherwise: "the name of the preset"),
            Field(
                "tokenCheck",
                \.tokenCheck,
                Codec<TokenClientCheck>.object(TokenClientCheck.description).orNull,
                "Check of access tokens",
                "How the server shows for which client it issued an access token."
            ),
            Field(
                "revocation",
                \.revocation,
                Codec<TokenRevocation>.object(TokenRevocation.description).orNull,
                "Revocation",
                "How the server revokes tokens."
            ),
            Field(
                "setup",
                \.setup,
                .list(of: .text(.line(500)), max: 10),
                "Setup",
                "What an operator does, step by step."
            ),
            Field("sample", \.sample, .members, "Sample", "Members of a profile, each with a sample of its value."),
        ]
        return ObjectDescription(Self(), unknown: "is not a member of a preset", fields + further)
    }
}

/// The known providers of a kind: those that the service ships, and those of the operator's own document.
package struct Presets<Document: PresetDocument>: Sendable {
    package let all: [Document]

    /// Reads the presets that the service ships.
    package init(shipped text: [UInt8]) {
        var problems = DocumentProblems()
        all = Self.read((try? JSONParser.parse(text, limits: .stored)) ?? .null, problems: &problems)
        precondition(problems.isEmpty, "a shipped preset is invalid")
    }

    private init(_ all: [Document]) { self.all = all }

    /// The presets that the service ships.
    package static var shipped: Presets { Document.shipped }

    /// Returns the presets with those of an operator's document, which take the place of shipped ones with the same
    /// name.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its position in the document.
    package func adding(_ document: JSONValue) throws(DocumentProblems) -> Presets {
        var problems = DocumentProblems()
        let own = Self.read(document, problems: &problems)
        guard problems.isEmpty else { throw problems }
        return Presets(all.filter { shipped in !own.contains { $0.name.hasSameBytes(as: shipped.name) } } + own)
    }

    private static func read(_ document: JSONValue, problems: inout DocumentProblems) -> [Document] {
        guard let documents = document.array, documents.count <= 200 else {
            problems.add(JSONPointer(), "must be a list of at most 200 presets")
            return []
        }
        var presets: [Document] = []
        for (index, document) in documents.enumerated() {
            let place = JSONPointer() / index
            let preset = Document.description.read(document, at: place, problems: &problems)
            if presets.contains(where: { $0.name.hasSameBytes(as: preset.name) }) {
                problems.add(place / "name", "is used twice")
            }
            presets.append(preset)
        }
        return presets
    }

    /// The steps of each preset, for operators.
    package var guides: [PresetGuide] {
        all.map { PresetGuide(name: $0.name, title: $0.title ?? $0.name, steps: $0.setup) }
    }

    /// The names of all presets, for a sentence.
    package var names: String { all.map(\.name).joined(separator: ", ") }

    /// Returns the preset that the option `preset` of a provider names.
    ///
    /// - Throws: `DocumentProblems` if no preset has the name.
    package func named(_ name: String, at options: JSONPointer = JSONPointer()) throws(DocumentProblems) -> Document {
        if let preset = all.first(where: { $0.name.hasSameBytes(as: name) }) { return preset }
        throw DocumentProblems(options / "preset", "is none of \(names)")
    }
}

extension Variable {
    /// Declares the variable that names the file with an operator's own presets.
    ///
    /// - Parameters:
    ///   - key: The key in the configuration file.
    ///   - servers: The known servers, within a sentence.
    /// - Returns: The variable, whose value are these presets and those that the service ships.
    package static func presets<Document>(
        _ key: String,
        of servers: String
    ) -> Variable where Value == Presets<Document> {
        let meaning =
            "A file with [presets of your own](providers/README.md#presets-of-your-own) for \(servers): a JSON list."
        return Variable(key, "path", standard: .shipped, text: nil, meaning) { path throws(WrongValue) in
            guard let bytes = FileManager.default.contents(atPath: path), bytes.count <= 1_048_576,
                let document = try? JSONParser.parse(Array(bytes), limits: .stored)
            else { throw WrongValue("must name a file with a JSON list of presets") }
            do throws(DocumentProblems) { return try .shipped.adding(document) } catch {
                throw WrongValue("names a file with an invalid preset: \(error)")
            }
        }
    }
}

/// The rule for names of presets.
package enum PresetName {
    package static let rule = TextRule(
        "must be 1 to 32 of a-z 0-9 -, like google",
        pattern: "^[a-z][a-z0-9-]{0,31}$",
        example: "google"
    ) { text in
        (1...32).contains(text.utf8.count) && text.utf8.first?.isASCIILowercase == true
            && text.utf8.allSatisfy { $0.isASCIILowercase || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }
}

extension Codec<JSONObject> {
    /// The codec of an object with any members.
    package static var members: Codec {
        Codec(.object(ObjectShape())) { value, place, problems in
            if value.object == nil { problems.add(place, "must be an object") }
            return value.object
        } write: { value in
            .object(value)
        }
    }
}
