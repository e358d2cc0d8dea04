package import Domain
package import Encodings

/// The changes that a webhook of the object `permissions` reports about one user (docs/protocols/facebook.md §5.4).
package struct PermissionEvent: Sendable, Equatable {
    package enum Change: Sendable, Equatable {
        /// The user has removed the app at Facebook.
        case disconnected
        case granted(String)
        case revoked(String)
    }

    package let subject: Subject
    /// The time of the event, in Unix seconds, as Facebook sent it.
    package let time: Int64
    /// The changes in the order of the document; not empty.
    package let changes: [Change]

    /// The limits of a webhook's body.
    ///
    /// Facebook sends up to 1,000 events in one request.
    package static let limits = JSONLimits.reply

    /// Reads the events in a body whose signature is already verified.
    ///
    /// Unknown objects and fields are ignored, since Facebook may add some at any time. Events without a time are
    /// ignored, since they could be old. Events with a time in the future are ignored, since they would override all
    /// later events.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - now: The current time in Unix seconds.
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
    /// Reads an element of the webhook's `changes`; nil if the service ignores the element.
    ///
    /// Facebook puts the verb, `granted` or `revoked`, next to the field or inside the field's value.
    ///
    /// The service ignores an element without a known verb, and one without a valid permission name. It also ignores
    /// that a user has connected the app, since it learns more from the login itself.
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
