extension JSONValue {
    /// Returns this value with a JSON Merge Patch (RFC 7396) applied.
    ///
    /// `null` in the patch removes a member. An object is merged member by member. Any other value replaces the former
    /// one. Members keep their order, and new members follow them.
    package func merging(patch: JSONValue) -> JSONValue {
        guard let patch = patch.object else { return patch }
        var members = object?.members ?? []
        for change in patch.members {
            let index = members.firstIndex { $0.key.hasSameBytes(as: change.key) }
            if change.value.isNull {
                if let index { members.remove(at: index) }
            } else {
                let old = index.map { members[$0].value } ?? .null
                let member = JSONObject.Member(change.key, old.merging(patch: change.value))
                if let index { members[index] = member } else { members.append(member) }
            }
        }
        return .object(JSONObject(members))
    }
}
