/// A version of the Graph API.
struct GraphVersion: Sendable, Comparable, CustomStringConvertible {
    let major: Int
    let minor: Int

    var description: String { "v\(major).\(minor)" }

    /// The versions of the Graph API that the simulator knows, the oldest first.
    ///
    /// `end` is the Unix second at which a version expires.
    private static let calendar: [(version: GraphVersion, end: Int)] = [
        (GraphVersion(major: 21, minor: 0), 1_800_489_600),
        (GraphVersion(major: 22, minor: 0), 1_810_771_200),
        (GraphVersion(major: 23, minor: 0), 1_822_953_600),
        (GraphVersion(major: 24, minor: 0), 1_834_444_800),
        (GraphVersion(major: 25, minor: 0), 1_848_441_600),
        (GraphVersion(major: 26, minor: 0), .max),
    ]

    static func < (left: GraphVersion, right: GraphVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Parses a version such as `v25.0`; `nil` for any other path segment.
    init?(pathComponent: String) {
        let bytes = pathComponent.utf8
        guard bytes.first == UInt8(ascii: "v"), bytes.count <= 8 else { return nil }
        let parts = pathComponent.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let major = Self.number(parts[0]), let minor = Self.number(parts[1]) else {
            return nil
        }
        self.init(major: major, minor: minor)
    }

    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) ? Int(digits) : nil
    }

    /// Returns the version that serves a request: the requested one, unless it has expired.
    ///
    /// For an expired version, and without a requested version, this is the oldest version that has not expired.
    /// Returns `nil` if the requested version does not exist.
    static func answering(_ asked: GraphVersion?, now: Int) -> GraphVersion? {
        let usable = calendar.filter { now < $0.end }.map(\.version)
        guard let asked, let oldest = usable.first, asked > oldest else { return usable.first }
        return usable.contains(asked) ? asked : nil
    }
}
