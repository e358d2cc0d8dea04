import NIOCore

/// The rules of a ``FaultyProxy`` and its counters.
struct ProxyRules {
    struct CutRule {
        /// The number of bytes that each connection may still forward before it is cut.
        let allowance: Int
        let cut: FaultyProxy.Cut
        /// The number of this rule, which distinguishes it from earlier rules.
        ///
        /// When a connection finds a rule with a new number, it begins to count its bytes anew.
        let generation: Int
    }

    struct DirectionRules {
        var latency = TimeAmount.zero
        var swallows = false
        var cut: CutRule?
    }

    /// How the proxy treats new connections.
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

/// Counts the bytes that one connection has forwarded in one direction since the current cut rule was set.
struct CutProgress {
    private var generation = 0
    private var passed = 0

    /// Counts arrived bytes, and decides how many of them the connection still forwards under a cut rule.
    ///
    /// - Returns: The number of bytes that pass. Also the way to end the connection, if it must end after these bytes;
    ///   otherwise `nil`.
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
