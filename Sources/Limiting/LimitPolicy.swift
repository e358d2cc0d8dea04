/// The kind of a request, for rate limits.
package enum LimitedOperation: String, Sendable, CaseIterable {
    /// Logins by a provider, and other requests for which the service calls a provider: dialogs, linking, refreshed
    /// tokens.
    case login
    /// Logins with a password or a second factor, and other requests that check a password or a second factor.
    case password
    /// Registrations of users, and the creation of guests.
    case registration
    /// Requests that cause a mail to be sent, or that use a mailed link.
    case mail
    /// Searches, reads and changes of records, such as users, and of the user's own sessions.
    case query
    /// Requests to the administration API.
    case administration
}

/// What a rate limit counts requests for: a source, its network or an application.
package enum LimitedSubject: String, Sendable, CaseIterable {
    /// An IPv4 address, or the /64 of an IPv6 address, within an application.
    case source
    /// The /48 of an IPv6 address, within an application.
    ///
    /// A customer of an Internet provider gets at most one /48.
    case network
    /// An application within the instance.
    case application
}

/// A rate of requests: how many are allowed in a unit of time, and how many at once after a pause (the burst).
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

    /// The number of requests in a unit of time, from 1 to 1 000 000.
    package let permits: Int64
    package let unit: Unit
    /// The number of requests that may come at once after a pause, from 1 to 1 000 000.
    package let burst: Int64

    static let bounds: ClosedRange<Int64> = 1...1_000_000

    init(_ permits: Int64, per unit: Unit, burst: Int64) {
        self.permits = permits
        self.unit = unit
        self.burst = burst
    }

    /// Parses `100/s burst 1000`, `60/min` or `10/h`.
    ///
    /// Without a burst, the burst equals the number of requests in a unit.
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

/// A rate limit on one kind of request, counted for a source, a network or an application.
///
/// The operator can change its default rate.
package struct LimitPolicy: Sendable, Hashable {
    package let operation: LimitedOperation
    package let subject: LimitedSubject

    package init(_ operation: LimitedOperation, _ subject: LimitedSubject) {
        self.operation = operation
        self.subject = subject
    }

    /// The name of the limit, such as `login.source`.
    ///
    /// The environment variable `FEDERATION_LIMIT_LOGIN_SOURCE` then sets the rate of the limit.
    package var name: String { "\(operation.rawValue).\(subject.rawValue)" }

    /// All rate limits for which an instance counts requests in its memory, in the order in which they are checked.
    package static let all: [LimitPolicy] = LimitedOperation.allCases.flatMap { operation in
        // Administration has only the limit for the source, since operators belong to no application.
        operation == .administration
            ? [LimitPolicy(operation, .source)]
            : [LimitPolicy(operation, .source), LimitPolicy(operation, .network), LimitPolicy(operation, .application)]
    }

    /// The rate if the operator has set none; nil for no limit.
    ///
    /// Thousands of users may share one source, such as the gateway of a mobile carrier or the network of a stadium.
    /// The default rates are far above what even such a source sends at once. One machine handles requests at these
    /// rates without a noticeable effect on other sources.
    package var standard: Rate? {
        switch (operation, subject) {
        // How much an application may use is the operator's decision. The admission keeps one application from starving
        // another.
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

    /// What the rate limit counts, in the words of docs/limits.md.
    package var meaning: String {
        let what = operation.meaning
        return switch (operation, subject) {
        case (.registration, .source):
            "\(what) from one source; the limit per hour is [counted exactly](api/passwords.md#register) in addition"
        case (.mail, .source): "\(what), from one source; mails have their own limits below"
        case (.administration, _):
            """
            \(what) from one source; invalid operator tokens have [their own \
            limit](administration.md#operators-and-tokens)
            """
        case (_, .source): "\(what), from one source"
        case (_, .network): "the same from one network"
        case (_, .application): "the same for an application"
        }
    }
}

extension LimitedOperation {
    fileprivate var meaning: String {
        switch self {
        case .login:
            """
            logins with a provider, dialogs, linking, links to the account page, and other requests that call a provider
            """
        case .password: "logins with a password, password checks, second factors"
        case .registration: "registrations and guests"
        case .mail: "requests that send a mail or use a mailed link"
        case .query: "searches, reads and changes of records and own sessions"
        case .administration: "requests to the administration API, and for access tokens of service accounts,"
        }
    }
}

/// The rates of all rate limits that an instance applies.
package struct LimitPolicies: Sendable {
    private var rates: [LimitPolicy: Rate]

    /// The default rates of all rate limits.
    package static let standard = LimitPolicies(rates: LimitPolicy.all.reduce(into: [:]) { $0[$1] = $1.standard })

    /// The rate of a rate limit; nil if the limit does not apply.
    package subscript(policy: LimitPolicy) -> Rate? {
        get { rates[policy] }
        set { rates[policy] = newValue }
    }
}
