import NIOCore

/// The rules of a ``FaultyProxy`` and its counters.
struct ProxyRules {
    struct CutRule {
        /// The number of bytes that each connection may forward in this direction before it is ended.
        let allowance: Int
        let cut: FaultyProxy.Cut
        /// The number of this rule; a later rule has a greater number.
        ///
        /// When a connection meets a rule with another number than before, it begins to count its bytes anew.
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

/// The bytes that one connection has forwarded in one direction under the current cut rule.
struct CutProgress {
    private var generation = 0
    private var passed = 0

    /// Counts arrived bytes, and decides how many of them the connection forwards under a cut rule.
    ///
    /// - Returns: The number of bytes to forward. `cut` says how the connection must end after these bytes; it is `nil`
    ///   if the connection continues.
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
