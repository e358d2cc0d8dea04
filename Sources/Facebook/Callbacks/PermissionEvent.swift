package import Vocabulary

/// What a webhook of the object `permissions` says of one person (docs/protocols/facebook.md §5.4).
package struct PermissionEvent: Sendable, Equatable {
    package enum Change: Sendable, Equatable {
        /// The person has removed the app.
        case disconnected
        case granted(String)
        case revoked(String)
    }

    package let subject: Subject
    /// Unix seconds.
    package let time: Int64
    /// In the order of the document, not empty.
    package let changes: [Change]

    /// The largest body: Facebook sends up to 1,000 events at once.
    package static let limits = JSONLimits.reply

    /// Reads a body whose signature has been verified.
    ///
    /// What is not understood is left out: Facebook adds objects and fields as it likes. So are entries without a time,
    /// which could not be told from old ones, and those of the future, which would outlast all that follow.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - now: Unix seconds.
    /// - Returns: The events in the order of the document.
    /// - Throws: `malformed_request` when the body is not a JSON object.
    package static func read(_ body: [UInt8], now: Int64) throws(Failure) -> [PermissionEvent] {
        guard let document = (try? JSONParser.parse(body, limits: limits))?.object else {
            throw Failure(.malformedRequest, "The body of a webhook must be a JSON object.")
        }
        guard document["object"]?.string?.hasSameBytes(as: "permissions") ?? false else { return [] }
        return (document["entry"]?.array ?? []).compactMap(\.object).compactMap { entry in
            let changes = (entry["changes"]?.array ?? []).compactMap(\.object).compactMap(Change.init)
            guard !changes.isEmpty, let time = entry["time"]?.unixSeconds,
                time <= now + SignedRequest.clockTolerance,
                let subject = (entry["uid"] ?? entry["id"])?.decimalText.flatMap({ Subject(decimal: $0) })
            else { return nil }
            return PermissionEvent(subject: subject, time: time, changes: changes)
        }
    }
}

extension PermissionEvent.Change {
    /// Reads a change, whose verb stands beside the field or inside its value.
    ///
    /// That the app was connected is left to the login, which says more.
    fileprivate init?(_ change: JSONObject) {
        guard let field = change["field"]?.string,
            let verb = change["verb"]?.string ?? change["value"]?.object?["verb"]?.string
        else { return nil }
        let isRevoked = verb.hasSameBytes(as: "revoked")
        guard isRevoked || verb.hasSameBytes(as: "granted") else { return nil }
        if field.hasSameBytes(as: "connected") {
            guard isRevoked else { return nil }
            self = .disconnected
        } else {
            guard PermissionName.isValid(field) else { return nil }
            self = isRevoked ? .revoked(field) : .granted(field)
        }
    }
}
