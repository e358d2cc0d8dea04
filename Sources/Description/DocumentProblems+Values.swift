package import Encodings

/// Methods that read settings from JSON values.
///
/// Each method stores the value in a variable. If the value is invalid, the method adds a problem with the value's
/// position in the document.
extension DocumentProblems {
    package mutating func take(_ value: JSONValue, at place: JSONPointer, into setting: inout Bool) {
        if let bool = value.bool { setting = bool } else { add(place, "must be true or false") }
    }

    package mutating func take(
        _ value: JSONValue,
        at place: JSONPointer,
        into setting: inout Int64,
        _ range: ClosedRange<Int64>,
        _ unit: String
    ) {
        if let number = value.integer, range.contains(number) {
            setting = number
        } else {
            add(place, "must be whole \(unit) from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    package mutating func take<Words>(
        _ value: JSONValue,
        at place: JSONPointer,
        into setting: inout Words
    ) where Words: RawRepresentable<String> & CaseIterable {
        if let word = Words.allCases.first(where: { value.string?.hasSameBytes(as: $0.rawValue) == true }) {
            setting = word
        } else {
            add(place, "must be one of " + Words.allCases.map(\.rawValue).joined(separator: ", "))
        }
    }

    /// Reads a list of texts.
    ///
    /// `problem` returns the problem of an invalid text, and nil for a valid one.
    package mutating func texts(
        _ value: JSONValue,
        at place: JSONPointer,
        max: Int,
        _ problem: (String) -> String?
    ) -> [String] {
        guard let elements = value.array, elements.count <= max else {
            add(place, "must be a list of at most \(max) texts")
            return []
        }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            if let problem = problem(element.string ?? "") {
                add(place / index, problem)
            } else if let text = element.string {
                texts.append(text)
            }
        }
        return texts
    }
}
