package import Encodings

/// A provider's profile without the values that break the rules for length, characters or form.
///
/// A value that breaks a rule is left out as a whole, never cut or changed. Of an object, only the members that break a
/// rule are left out. If an element of a list breaks a rule, the whole list is left out. Only this form of a profile is
/// mapped and stored.
package struct AdmittedProfile: Sendable {
    /// The profile's fields, without the values that were left out.
    package let fields: JSONObject
    /// The reasons why values were left out, by the paths of the values.
    private let leftOut: [String: Omission.Reason]

    /// Checks a profile and keeps the values that follow the rules for length, characters and form.
    ///
    /// - Parameters:
    ///   - profile: The provider's profile.
    ///   - catalogue: The known fields of the provider.
    package init(_ profile: JSONObject, by catalogue: ProfileFields) {
        // The fast path: almost all profiles fit as a whole.
        if profile.members.allSatisfy({ $0.fitsWhole(by: catalogue) }) {
            (fields, leftOut) = (profile, [:])
            return
        }
        var leftOut: [String: Omission.Reason] = [:]
        let members = profile.members.compactMap { member -> JSONObject.Member? in
            // No mapping entry can name such a field.
            guard let place = FieldPath(member.key) else { return nil }
            return Self.admit(member, catalogue.shape(of: member.key), at: place, &leftOut)
        }
        fields = JSONObject(members)
        self.leftOut = leftOut
    }

    /// The placeholder for the name of a left-out member in its path, for a name that a path cannot contain.
    private static let unnamed = "*"

    /// Returns a member of the profile without the inner values that break a rule.
    ///
    /// The result is nil if the member's name or its whole value breaks a rule. An object stays, even if none of its
    /// members remain.
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
                // No path can name this member, so the omission is recorded under a placeholder. The object's other
                // members stay.
                guard let reason = inner.misfit(with: shape) else { return inner }
                leftOut["\(place.text).\(unnamed)"] = reason
                return nil
            }
            return admit(inner, shape, at: innerPlace, &leftOut)
        }
        return .init(member.key, .object(JSONObject(members)))
    }

    /// Returns a left-out value that affects the value at a path; nil if there is none.
    ///
    /// The left-out value is at the path itself, or contains the value at the path, or is inside that value. The result
    /// is the path of the left-out value, and the reason.
    func omission(at path: FieldPath) -> (field: String, reason: Omission.Reason)? {
        // The fast path: almost no profile has omissions.
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

// The form of the profile in a pending login.
extension AdmittedProfile {
    private enum Key {
        static let (fields, leftOut) = ("fields", "leftOut")
    }

    package var json: JSONValue {
        let reasons = leftOut.sorted { $0.key < $1.key }.map { JSONObject.Member($0.key, .string($0.value.rawValue)) }
        return .object([Key.fields: .object(fields), Key.leftOut: .object(JSONObject(reasons))])
    }

    /// Reads the profile as a pending login stores it; nil if another version of the service stored another form.
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
    /// Returns whether the member stays in the profile unchanged.
    ///
    /// A path of a mapping entry must be able to contain its name, and its whole value must follow the rules.
    fileprivate func fitsWhole(by catalogue: ProfileFields) -> Bool {
        FieldPath.isName(key.utf8) && misfit(with: catalogue.shape(of: key)) == nil
    }

    /// Returns the reason why a rule refuses the member's name or value; nil if the rules accept both.
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
    /// Whether a value of this shape may be an object, which is then checked member by member.
    fileprivate var admitsObjects: Bool { TextRule(self).misfitOfOthers == nil }
}
