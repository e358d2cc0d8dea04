import Description
import Domain
import Encodings

/// The merge patch of a user: `{"user": {"userStatus": "DISABLED" | "ENABLED"}}`, or `userStatus` alone.
struct UserPatch {
    let status: UserStatus

    /// Reads a patch.
    ///
    /// - Throws: `document_invalid` for any other patch.
    init(_ patch: JSONValue) throws(Failure) {
        var problems = DocumentProblems()
        var status: UserStatus?
        var isGiven = false
        for (pointer, member) in Self.members(of: patch) {
            guard member.key.hasSameBytes(as: "userStatus") else {
                problems.add(pointer, "cannot be changed; \"userStatus\" can")
                continue
            }
            if isGiven { problems.add(pointer, "is repeated") }
            isGiven = true
            status = [.enabled, .disabled].first { member.value.string?.hasSameBytes(as: $0.rawValue) ?? false }
            if status == nil { problems.add(pointer, "must be \"DISABLED\" or \"ENABLED\"") }
        }
        if !isGiven {
            problems.add(JSONPointer(), "must be an object with \"userStatus\": \"DISABLED\" or \"ENABLED\"")
        }
        guard problems.isEmpty, let status else { throw problems.failure }
        self.status = status
    }

    /// Returns the members of a patch, each with the JSON pointer to it.
    ///
    /// In place of the member `user`, the result has the members inside it.
    private static func members(of patch: JSONValue) -> [(JSONPointer, JSONObject.Member)] {
        (patch.object?.members ?? []).flatMap { member -> [(JSONPointer, JSONObject.Member)] in
            let place = JSONPointer() / member.key
            guard member.key.hasSameBytes(as: "user"), let user = member.value.object else { return [(place, member)] }
            return user.members.map { (place / $0.key, $0) }
        }
    }
}
