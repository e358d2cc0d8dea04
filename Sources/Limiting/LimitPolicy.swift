import Vocabulary

/// What is counted.
package enum LimitedOperation: String, Sendable, CaseIterable {
    /// Logins by a provider and what else has a provider asked: dialogs, linking, refreshed tokens.
    case login
    /// Logins by a password or a factor, and checks of either.
    case password
    /// Registrations and guests.
    case registration
    /// Requests that have a mail sent.
    case mail
    /// Searches, reads and changes of records.
    case query
    /// Requests of the administration.
    case administration
}

/// For whom it is counted.
package enum LimitedSubject: String, Sendable, CaseIterable {
    /// An IPv4 address, or the /64 of an IPv6 address, within an application.
    case source
    /// The /48 of an IPv6 address, within an application: as much as one customer of a provider may have.
    case network
    /// An application within the instance.
    case application
}

/// How much: so many in a time, and so many at once after a pause.
package struct Rate: Sendable, Equatable {
    package enum Unit: String, Sendable, CaseIterable {
        case second = "s"
        case minute = "min"
        case hour = "h"

        package var nanoseconds: Int64 {
            switch self {
            case .second: 1_000_000_000
            case .minute: 60_000_000_000
            case .hour: 3_600_000_000_000
            }
        }
    }

    /// How many in the unit; 1 to 1 000 000.
    package let permits: Int64
    package let unit: Unit
    /// How many may come at once; 1 to 1 000 000.
    package let burst: Int64

    static let bounds: ClosedRange<Int64> = 1...1_000_000

    init(_ permits: Int64, per unit: Unit, burst: Int64) {
        self.permits = permits
        self.unit = unit
        self.burst = burst
    }

    /// Reads `100/s burst 1000`, `60/min` or `10/h`; without a burst, as many may come at once as in the unit.
    ///
    /// - Returns: Nil for any other text.
    package init?(_ text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: " "))
        guard words.count == 1 || words.count == 3 && words[1].elementsEqual("burst".utf8) else { return nil }
        let parts = words[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2,
            let permits = Self.number(parts[0]),
            let unit = Unit(rawValue: String(decoding: parts[1], as: UTF8.self)),
            let burst = words.count == 1 ? permits : Self.number(words[2])
        else { return nil }
        self.init(permits, per: unit, burst: burst)
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard (1...7).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(String(decoding: digits, as: UTF8.self)), bounds.contains(number)
        else { return nil }
        return number
    }
}

extension Rate: CustomStringConvertible {
    package var description: String { "\(permits)/\(unit.rawValue) burst \(burst)" }
}

/// One limit: what is counted, for whom, and how much, unless the operator says otherwise.
package struct LimitPolicy: Sendable, Hashable {
    package let operation: LimitedOperation
    package let subject: LimitedSubject

    package init(_ operation: LimitedOperation, _ subject: LimitedSubject) {
        self.operation = operation
        self.subject = subject
    }

    /// Of the setting, behind `FEDERATION_LIMIT_`, like `login.source`.
    package var name: String { "\(operation.rawValue).\(subject.rawValue)" }

    /// Every limit that is counted in the memory of an instance, in the order in which they are looked at.
    package static let all: [LimitPolicy] = LimitedOperation.allCases.flatMap { operation in
        // Operators belong to no application.
        operation == .administration
            ? [LimitPolicy(operation, .source)]
            : [LimitPolicy(operation, .source), LimitPolicy(operation, .network), LimitPolicy(operation, .application)]
    }

    /// What counts where the operator has set nothing; nil: no limit.
    ///
    /// A source may be a carrier's gateway with thousands of people behind it, or a crowd that a stadium's screen has
    /// told of an app: the limits are what no crowd comes near, and what one machine takes without others noticing.
    package var standard: Rate? {
        switch (operation, subject) {
        // What an application may use is the operator's to say; that none starves another is admission's to see to.
        case (_, .application): nil
        case (.login, .source), (.query, .source): Rate(100, per: .second, burst: 1000)
        case (.login, .network), (.query, .network): Rate(400, per: .second, burst: 4000)
        case (.password, .source), (.registration, .source): Rate(50, per: .second, burst: 500)
        case (.password, .network), (.registration, .network): Rate(200, per: .second, burst: 2000)
        case (.mail, .source): Rate(10, per: .second, burst: 100)
        case (.mail, .network): Rate(40, per: .second, burst: 400)
        case (.administration, _): Rate(50, per: .second, burst: 500)
        }
    }
}

/// The limits of an instance.
package struct LimitPolicies: Sendable {
    private var rates: [LimitPolicy: Rate]

    /// What counts where the operator has set nothing.
    package static let standard = LimitPolicies(rates: LimitPolicy.all.reduce(into: [:]) { $0[$1] = $1.standard })

    /// The rate of a policy; nil: no limit.
    package subscript(policy: LimitPolicy) -> Rate? {
        get { rates[policy] }
        set { rates[policy] = newValue }
    }
}
