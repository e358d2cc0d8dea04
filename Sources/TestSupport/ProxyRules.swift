import NIOCore

/// The rules of a ``FaultyProxy`` and its counters.
struct ProxyRules {
    struct CutRule {
        /// The number of bytes that may still pass on each connection.
        let allowance: Int
        let cut: FaultyProxy.Cut
        /// A number that distinguishes this rule from earlier rules.
        ///
        /// When a connection meets a new number, it begins to count its bytes anew.
        let generation: Int
    }

    struct DirectionRules {
        var latency = TimeAmount.zero
        var swallows = false
        var cut: CutRule?
    }

    /// The treatment of new connections.
    var connections = FaultyProxy.ConnectionRule.pass
    var traffic = FaultyProxy.Traffic()
    private var toServer = DirectionRules()
    private var toClient = DirectionRules()
    private var generations = 0

    subscript(direction: FaultyProxy.Direction) -> DirectionRules {
        get { direction == .toServer ? toServer : toClient }
        set {
            switch direction {
            case .toServer: toServer = newValue
            case .toClient: toClient = newValue
            }
        }
    }

    mutating func nextGeneration() -> Int {
        generations += 1
        return generations
    }

    mutating func heal() {
        toServer = DirectionRules()
        toClient = DirectionRules()
    }
}

/// The number of bytes that one connection has counted in one direction under the rule that is to cut it.
struct CutProgress {
    private var generation = 0
    private var passed = 0

    /// Counts bytes for the rule.
    ///
    /// - Returns: The number of bytes that pass, and the cut if it is due after these bytes.
    mutating func pass(_ count: Int, under rule: ProxyRules.CutRule?) -> (passing: Int, cut: FaultyProxy.Cut?) {
        guard let rule else { return (count, nil) }
        if rule.generation != generation {
            generation = rule.generation
            passed = 0
        }
        let passing = min(count, rule.allowance - passed)
        passed += passing
        return (passing, passed == rule.allowance ? rule.cut : nil)
    }
}
