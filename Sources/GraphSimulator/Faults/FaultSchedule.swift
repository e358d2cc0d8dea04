import Encodings

/// Decides which of the configured faults strike a request or a new connection.
///
/// The decision depends only on the faults, their counters and the request. It does not depend on the time.
struct FaultSchedule: Sendable {
    /// A fault with its counters.
    struct Entry: Sendable {
        let id: Int
        let fault: Fault
        /// The number of requests that matched the fault's conditions.
        fileprivate(set) var matches = 0
        /// The number of requests that the fault struck.
        fileprivate(set) var hits = 0
        fileprivate var generator: SplitMix64

        fileprivate init(id: Int, fault: Fault) {
            self.id = id
            self.fault = fault
            generator = SplitMix64(seed: fault.seed)
        }
    }

    /// The faults that strike one request: their ids, the sum of their delays, and the effect of the last one.
    ///
    /// The effect is `nil` if all these faults are delays.
    struct Verdict: Sendable {
        var delay = 0
        var effect: Fault.Effect?
        var faults: [Int] = []
    }

    private(set) var entries: [Entry] = []
    private var lastID = 0

    mutating func add(_ fault: Fault) -> Int {
        lastID += 1
        entries.append(Entry(id: lastID, fault: fault))
        return lastID
    }

    mutating func remove(_ id: Int) -> Bool {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return false }
        entries.remove(at: index)
        return true
    }

    mutating func removeAll() {
        entries = []
    }

    /// Returns the moment and the manner in which a new connection is interrupted; `nil` if no fault strikes it.
    mutating func verdictOnConnection() -> (moment: Fault.Moment, manner: Fault.Manner)? {
        for index in entries.indices {
            guard case .interrupt(let moment, let manner) = entries[index].fault.effect, moment.isBeforeRequest else {
                continue
            }
            if entries[index].strikes() { return (moment, manner) }
        }
        return nil
    }

    /// Decides which faults strike a request, and updates the counters of the examined faults.
    ///
    /// The method examines the faults in their order. It stops at the first fault that strikes the request and is not a
    /// delay.
    ///
    /// - Parameters:
    ///   - path: The path without version.
    ///   - app: The id of the app that the request names by its token or by `client_id`; `nil` if it names none.
    ///   - tokens: The texts of the tokens in the request.
    /// - Returns: The effect of that fault, and the sum of the delays before it.
    mutating func verdict(path: String, app: String?, tokens: [String]) -> Verdict {
        var verdict = Verdict()
        for index in entries.indices {
            let fault = entries[index].fault
            if case .interrupt(let moment, _) = fault.effect, moment.isBeforeRequest { continue }
            guard fault.concerns(path: path, app: app, tokens: tokens), entries[index].strikes() else { continue }
            verdict.faults.append(entries[index].id)
            guard case .delay(let milliseconds) = fault.effect else {
                verdict.effect = fault.effect
                break
            }
            verdict.delay = min(verdict.delay + milliseconds, Int(Int32.max))
        }
        return verdict
    }
}

extension FaultSchedule.Entry {
    /// Decides whether the fault strikes a request or a connection that matches the fault's conditions.
    ///
    /// The fault's `after`, `every`, `percent` and `count` decide. The method also updates the numbers of matches and
    /// hits.
    fileprivate mutating func strikes() -> Bool {
        if let count = fault.count, hits >= count { return false }
        matches += 1
        guard matches > fault.after, (matches - fault.after).isMultiple(of: max(fault.every, 1)) else { return false }
        if let percent = fault.percent, Double.random(in: 0..<100, using: &generator) >= percent { return false }
        hits += 1
        return true
    }
}

extension Fault {
    fileprivate func concerns(path: String, app: String?, tokens: [String]) -> Bool {
        if let wanted = self.path {
            let rest = path.utf8.dropFirst(wanted.utf8.count)
            guard path.utf8.starts(with: wanted.utf8), rest.isEmpty || rest.first == UInt8(ascii: "/") else {
                return false
            }
        }
        if let wanted = self.app, !(app?.hasSameBytes(as: wanted) ?? false) { return false }
        if let wanted = token, !tokens.contains(where: { $0.hasSameBytes(as: wanted) }) { return false }
        return true
    }
}

extension Fault.Moment {
    /// Whether this moment comes before a request has been read, so that its path, app and token are unknown.
    fileprivate var isBeforeRequest: Bool {
        self == .accept || self == .firstBytes
    }
}
