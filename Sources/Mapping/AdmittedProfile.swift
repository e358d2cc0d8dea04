package import Vocabulary

/// A profile as far as it fits: the boundary at which what a provider says of a person is held to lengths, characters
/// and forms.
///
/// What does not fit is left out whole, never cut or changed: the members of an object one by one, a list with all that
/// is in it. Nothing else is mapped or kept of a profile.
package struct AdmittedProfile: Sendable {
    /// The profile without what is left out.
    package let fields: JSONObject
    /// Why something is left out, by the text of the path at which it stands.
    private let leftOut: [String: Omission.Reason]

    /// Takes what fits.
    ///
    /// - Parameters:
    ///   - profile: What the provider says.
    ///   - catalogue: What is known of its fields.
    package init(_ profile: JSONObject, by catalogue: ProfileFields) {
        // As almost every one does.
        if profile.members.allSatisfy({ $0.fitsWhole(by: catalogue) }) {
            (fields, leftOut) = (profile, [:])
            return
        }
        var leftOut: [String: Omission.Reason] = [:]
        let members = profile.members.compactMap { member -> JSONObject.Member? in
            // No entry can ask for a field without such a name.
            guard let place = FieldPath(member.key) else { return nil }
            return Self.admit(member, catalogue.shape(of: member.key), at: place, &leftOut)
        }
        fields = JSONObject(members)
        self.leftOut = leftOut
    }

    /// Stands for the members of an object that have no name in paths.
    private static let unnamed = "*"

    /// The member without what does not fit; nil when that is all of it.
    private static func admit(
        _ member: JSONObject.Member,
        _ shape: FieldShape,
        at place: FieldPath,
        _ leftOut: inout [String: Omission.Reason]
    ) -> JSONObject.Member? {
        guard case .object(let object) = member.value, shape.admitsObjects else {
            guard let reason = member.misfit(with: shape) else { return member }
            leftOut[place.text] = reason
            return nil
        }
        if let reason = TextRule.misfit(ofKey: member.key) {
            leftOut[place.text] = reason
            return nil
        }
        let members = object.members.compactMap { inner -> JSONObject.Member? in
            let shape = shape.member(inner.key) ?? .unknown
            guard let innerPlace = FieldPath("\(place.text).\(inner.key)") else {
                // No path leads there: the object lacks something, and its other members are as good as ever.
                guard let reason = inner.misfit(with: shape) else { return inner }
                leftOut["\(place.text).\(unnamed)"] = reason
                return nil
            }
            return admit(inner, shape, at: innerPlace, &leftOut)
        }
        return .init(member.key, .object(JSONObject(members)))
    }

    /// Where something is left out at a path, around it or inside of it, and why; nil when all that is there fits.
    func omission(at path: FieldPath) -> (field: String, reason: Omission.Reason)? {
        // As for almost every path of almost every profile.
        guard !leftOut.isEmpty else { return nil }
        return leftOut.filter { Self.isOne($0.key, of: path.text) || Self.isOne(path.text, of: $0.key) }
            .min { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func isOne(_ outer: String, of inner: String) -> Bool {
        inner.utf8.starts(with: outer.utf8)
            && (inner.utf8.count == outer.utf8.count
                || inner.utf8.dropFirst(outer.utf8.count).first == UInt8(ascii: "."))
    }
}

// How it is kept while a login waits for its code.
extension AdmittedProfile {
    private enum Key {
        static let (fields, leftOut) = ("fields", "leftOut")
    }

    package var json: JSONValue {
        let reasons = leftOut.sorted { $0.key < $1.key }.map { JSONObject.Member($0.key, .string($0.value.rawValue)) }
        return .object([Key.fields: .object(fields), Key.leftOut: .object(JSONObject(reasons))])
    }

    /// Nil for what another version wrote.
    package init?(_ json: JSONValue) {
        guard let fields = json.object?[Key.fields]?.object, let reasons = json.object?[Key.leftOut]?.object else {
            return nil
        }
        var leftOut: [String: Omission.Reason] = [:]
        for member in reasons.members {
            guard let reason = member.value.string.flatMap(Omission.Reason.init) else { return nil }
            leftOut[member.key] = reason
        }
        self.fields = fields
        self.leftOut = leftOut
    }
}

extension JSONObject.Member {
    /// Whether an entry can ask for the field, and nothing in it is left out.
    fileprivate func fitsWhole(by catalogue: ProfileFields) -> Bool {
        FieldPath.isName(key.utf8) && misfit(with: catalogue.shape(of: key)) == nil
    }

    /// Why the member does not fit, with all that is in it; nil when it does.
    fileprivate func misfit(with shape: FieldShape) -> Omission.Reason? {
        TextRule.misfit(ofKey: key) ?? value.misfit(with: shape)
    }
}

extension JSONValue {
    fileprivate func misfit(with shape: FieldShape) -> Omission.Reason? {
        switch self {
        case .null: return nil
        case .string(let text): return TextRule(shape).misfit(of: text)
        case .bool, .number: return TextRule(shape).misfitOfOthers
        case .array(let elements):
            if let reason = TextRule(shape).misfitOfOthers { return reason }
            let inner = if case .list(let element) = shape { element } else { FieldShape.unknown }
            return elements.lazy.compactMap { $0.misfit(with: inner) }.first
        case .object(let object):
            if let reason = TextRule(shape).misfitOfOthers { return reason }
            return object.members.lazy.compactMap { $0.misfit(with: shape.member($0.key) ?? .unknown) }.first
        }
    }
}

extension FieldShape {
    /// Whether an object in its place is looked at member by member.
    fileprivate var admitsObjects: Bool { TextRule(self).misfitOfOthers == nil }
}
