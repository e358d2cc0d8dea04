package import Vocabulary

extension LoginLock {
    /// No more than a hundred guesses in a row (NIST SP 800-63B, revision 4); fewer than three lock out whoever
    /// mistypes.
    private static let someFailures: ClosedRange<Int64> = 3...100
    /// No longer than a day: whoever knows a login locks it.
    private static let someSeconds: ClosedRange<Int64> = 60...86_400

    /// Reads `settings.lock`; what is absent keeps its default.
    package init(_ document: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        self.init()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return
        }
        for member in object.members {
            let place = place / member.key
            switch member.key {
            case "failures": problems.take(member.value, at: place, into: &failures, Self.someFailures, "failures")
            case "seconds": problems.take(member.value, at: place, into: &seconds, Self.someSeconds, "seconds")
            default:
                let known = LoginLock().document.memberNames
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of lock")
            }
        }
    }

    /// As it is stored and exported.
    package var document: JSONValue { .object(["failures": .integer(failures), "seconds": .integer(seconds)]) }
}
