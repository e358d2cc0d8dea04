package import Encodings

/// Values of settings: each is stored into a variable, or added as a problem with its place.
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
    /// The closure returns the problem of a text, or nil.
    package mutating func texts(
        _ value: JSONValue,
        at place: JSONPointer,
        most: Int,
        _ problem: (String) -> String?
    ) -> [String] {
        guard let elements = value.array, elements.count <= most else {
            add(place, "must be a list of at most \(most) texts")
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
