import Domain
import Encodings

extension EntryPlan {
    /// Returns for a preview what a login with this outcome would do to the entry's property, and why.
    func traced(
        _ outcome: EntryOutcome,
        _ profile: AdmittedProfile,
        _ grantedScopes: [String]?,
        user: User?,
        lastWritten: JSONValue?,
        isKept: Bool
    ) -> TracedEntry {
        let current = user?.value(of: target.name)
        func entry(
            _ outcome: TracedEntry.Outcome,
            _ why: String,
            value: PropertyValue? = nil,
            lacking: MissingField? = nil,
            leftOut omission: Omission? = nil
        ) -> TracedEntry {
            TracedEntry(
                origin: reference.origin,
                position: reference.position,
                from: self.entry.from.text,
                to: target.name,
                type: type,
                sync: target.sync,
                outcome: outcome,
                value: value,
                current: current,
                why: why,
                field: omission?.field ?? lacking?.field,
                permission: lacking?.permission,
                leftOut: omission?.reason,
                warning: doubt
            )
        }
        let absent = absentFields(in: profile.fields, grantedScopes: grantedScopes)
        let lacking = absent.map { $0.missing(target.name) }
        let decisive = lacking.first { $0.permission != nil } ?? lacking.first
        func decision(on value: PropertyValue?, _ change: TracedEntry.Outcome) -> (TracedEntry.Outcome, String) {
            guard !isKept else {
                return (.skipped, "It is confirmed, or it is the login name: no profile replaces it.")
            }
            return self.decision(on: value, change, user: user, current: current, lastWritten: lastWritten)
        }
        switch outcome {
        case .value(let value):
            let (outcome, why) = decision(on: value, .written)
            return entry(outcome, why, value: value)
        case .fallback(let value, nil):
            let (outcome, why) = decision(on: value, .defaulted)
            return entry(outcome, "\(absent.sentences) The default stands in. \(why)", value: value, lacking: decisive)
        case .fallback(let value, let omission?):
            let (outcome, why) = decision(on: value, .defaulted)
            return entry(
                outcome,
                "\(omission.sentence) The default stands in. \(why)",
                value: value,
                leftOut: omission
            )
        case .leftOut(let omission):
            let rest = user == nil ? "The property is empty." : "The property is unchanged."
            return entry(.leftOut, "\(omission.sentence) \(rest)", leftOut: omission)
        case .missing:
            let rest = user == nil ? "The property is empty." : "The property is unchanged."
            return entry(.missing, "\(absent.sentences) \(rest)", lacking: decisive)
        case .cleared:
            guard current != nil else {
                return entry(.missing, "\(absent.sentences) The property is empty.", lacking: decisive)
            }
            let (outcome, why) = decision(on: nil, .cleared)
            return entry(outcome, "\(absent.sentences) \(why)", lacking: decisive)
        case .refused(let failure, let omission):
            let isLacking = omission == nil && failure.reason != .valueNotConvertible
            return entry(.refused, failure.message, lacking: isLacking ? decisive : nil, leftOut: omission)
        }
    }

    /// Decides by the entry's `sync` mode whether a login writes a value to the property, and returns the reason.
    ///
    /// A nil value means that the login would clear the property.
    private func decision(
        on value: PropertyValue?,
        _ change: TracedEntry.Outcome,
        user: User?,
        current: PropertyValue?,
        lastWritten: JSONValue?
    ) -> (TracedEntry.Outcome, String) {
        guard user != nil else { return (change, "The login creates the user with it.") }
        var last: PropertyValue?
        if let lastWritten, case .value(let value) = Conversion.convert(lastWritten, to: target.type) { last = value }
        let writes = target.sync.writes(over: current, lastWritten: last)
        guard writes else { return (.skipped, target.sync.reason(writes: false)) }
        guard !current.isStoredLike(value) else { return (.unchanged, "The property has this value already.") }
        return (change, target.sync.reason(writes: true))
    }
}

extension SyncMode {
    fileprivate func reason(writes: Bool) -> String {
        switch (self, writes) {
        case (.always, _): "Every login writes the property."
        case (.firstLogin, _): "Only the login that creates the user writes the property."
        case (.ifEmpty, true): "The property is empty."
        case (.ifEmpty, false): "The property has a value, and the entry fills it only while it is empty."
        case (.untilEdited, true): "The property is as the mapping left it."
        case (.untilEdited, false): "The property was edited after the mapping wrote it."
        }
    }
}

extension Omission {
    fileprivate var sentence: String {
        "The value of \"\(field)\" in the profile is left out, because \(reason.words)."
    }
}

extension [AbsentField] {
    fileprivate var sentences: String { map(\.sentence).joined(separator: " ") }
}

extension AbsentField {
    fileprivate var sentence: String {
        guard isAbsent else { return "The value of \"\(name)\" in the profile gives the entry no value." }
        guard let permission else { return "The profile has no \"\(name)\"." }
        let state =
            switch isGranted {
            case true?: "is granted, so the user has no value there"
            case false?: "is not granted"
            case nil: "may not be granted"
            }
        return "The profile has no \"\(name)\": its permission \"\(permission)\" \(state)."
    }
}
