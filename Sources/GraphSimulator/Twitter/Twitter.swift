extension GraphSimulator {
    /// Adds a consumer, or replaces the one of the same key.
    public func put(_ consumer: TwitterConsumer) {
        simulation.update { state, _ in state.world.twitter.put(consumer) }
    }

    /// Adds somebody at Twitter, or replaces the one of the same key.
    public func put(_ person: TwitterPerson) {
        simulation.update { state, _ in state.world.twitter.put(person) }
    }

    /// Issues a token of Twitter's.
    /// - Throws: ``DataError`` when the person or consumer does not exist, or the name is taken.
    public func mint(_ request: TwitterTokenRequest) throws(DataError) -> TwitterToken {
        try simulation.update { state, _ throws(DataError) in try state.world.twitter.mint(request) }
    }

    /// The token of Twitter's of that name or text, if there is one.
    public func twitterToken(_ nameOrText: String) -> TwitterToken? {
        simulation.update { state, _ in state.world.twitter.token(namedOrTexted: nameOrText) }
    }

    /// Withdraws a token of Twitter's.
    /// - Returns: Whether there is one of that name or text.
    @discardableResult
    public func revoke(twitterToken nameOrText: String) -> Bool {
        simulation.update { state, _ in
            guard var token = state.world.twitter.token(namedOrTexted: nameOrText) else { return false }
            token.revoked = true
            state.world.twitter.put(token)
            return true
        }
    }
}
