import Vocabulary

extension DocumentReader {
    /// What a merge patch makes of a resource.
    ///
    /// Whoever changes what was read may send all of it back, so members that cannot change may come along as they are.
    ///
    /// - Parameters:
    ///   - patch: A JSON Merge Patch; problems are noted for members that the resource does not have.
    ///   - current: The resource as operators read it.
    ///   - fixed: The members that cannot be changed this way.
    /// - Returns: The resource after the patch; without members that were set to `null`.
    package mutating func merge(_ patch: JSONValue, into current: JSONObject, fixed: [String]) -> JSONObject {
        let document = JSONPointer()
        guard let changes = object(patch, at: document, known: current.members.map(\.key)) else { return current }
        for name in fixed {
            guard let change = changes[name], change != current[name] else { continue }
            problems.add(document / name, "cannot be changed")
        }
        return JSONValue.object(current).merging(patch: patch).object ?? current
    }

    /// Hands on what was read.
    ///
    /// - Throws: The problems that were found.
    func check() throws(DocumentProblems) {
        guard problems.isEmpty else { throw problems }
    }
}
