// Which indexes serve a search of users, and which would.

/// How an index of a column finds the users of whom a comparison holds, the narrowest way first.
package enum LookUp: Int, Sendable, Comparable {
    case equality
    case list
    case absence
    case range

    package static func < (left: LookUp, right: LookUp) -> Bool { left.rawValue < right.rawValue }
}

/// A comparison that holds of everybody who is found, and that an index of its column looks up.
package struct ColumnLookUp: Sendable, Equatable {
    package let column: UserColumn
    package let kind: LookUp

    /// Whether there is such an index: those of the table itself, and those of indexed properties.
    package var isServed: Bool {
        switch column {
        case .objectID: true
        // By its lower case, which says nothing of the beginning of an address or of the order.
        case .property(let property) where property.name == .email && kind <= .list: true
        case .property(let property): property.indexed
        case .created, .updated, .lastLogin, .status, .socialAccount, .locale: false
        }
    }

    /// Whether the index has those who are found in the order of their ids.
    fileprivate var ordersByID: Bool {
        switch column {
        case .objectID: true
        case .property(let property): property.indexed && kind == .equality && property.name != .email
        default: false
        }
    }
}

extension UserFilter {
    /// What of the filter indexes look up: comparisons that are joined by `and` alone.
    package var lookUps: [ColumnLookUp] {
        switch self {
        case .all(let parts): parts.flatMap(\.lookUps)
        case .any(let parts): parts.count == 1 ? parts[0].lookUps : []
        case .not: []
        case .comparison(_, .different, _): []
        // These compare ids as texts, and the index holds ids.
        case .comparison(.objectID, _, .property), .between(.objectID, .property, _), .between(.objectID, _, .property),
            .like(.objectID, _):
            []
        case .comparison(let column, .equal, .property(.dateTime)): [ColumnLookUp(column: column, kind: .range)]
        case .comparison(let column, .equal, _): [ColumnLookUp(column: column, kind: .equality)]
        case .comparison(let column, _, _), .between(let column, _, _): [ColumnLookUp(column: column, kind: .range)]
        case .isOne(let column, let values):
            values.contains { $0.isMoment } ? [] : [ColumnLookUp(column: column, kind: .list)]
        case .like(let column, let pattern):
            Self.literalBeginning(of: pattern).isEmpty ? [] : [ColumnLookUp(column: column, kind: .range)]
        case .isNull(let column): [ColumnLookUp(column: column, kind: .absence)]
        case .hasRole: []
        }
    }

    /// What stands in a pattern in front of the first `%` or `_`, as it is written there.
    package static func literalBeginning(of pattern: String) -> Substring.UnicodeScalarView {
        let scalars = pattern.unicodeScalars
        var end = scalars.startIndex
        while end < scalars.endIndex, scalars[end] != "%", scalars[end] != "_" {
            var next = scalars.index(after: end)
            if scalars[end] == "\\" {
                guard next < scalars.endIndex else { break }
                next = scalars.index(after: next)
            }
            end = next
        }
        return scalars[..<end]
    }
}

extension UserFilter.Value {
    /// A moment stands for a millisecond, which is a range.
    fileprivate var isMoment: Bool {
        guard case .property(.dateTime) = self else { return false }
        return true
    }
}

/// What a search can rely on, whatever the statistics of the table say.
package struct IndexUse: Sendable, Equatable {
    /// Whether the index of a column finds those of whom the filter may hold.
    package let narrows: Bool
    /// Whether an index has the users in the order that is asked for, so that nobody has to be put in order.
    package let orders: Bool
}

extension UserQuery {
    /// The narrowest look-up that an index serves.
    private var servedLookUp: ColumnLookUp? { filter?.lookUps.filter(\.isServed).min { $0.kind < $1.kind } }

    package var indexUse: IndexUse {
        let lookUp = servedLookUp
        let orders =
            if !distinct.isEmpty {
                false
            } else if let first = orderByIndex.first {
                ColumnLookUp(column: first.column, kind: .range).isServed
            } else {
                filter == nil || lookUp?.ordersByID == true
            }
        return IndexUse(narrows: lookUp != nil, orders: orders)
    }

    /// The order that is asked for; where none is, that of the index which finds many values, so that the first page
    /// of many users costs no more than that of few.
    package var orderByIndex: [UserOrder] {
        guard order.isEmpty, distinct.isEmpty, let lookUp = servedLookUp, lookUp.kind > .equality, !lookUp.ordersByID,
            case .property(let property) = lookUp.column, property.indexed
        else { return order }
        return [UserOrder(by: lookUp.column, isDescending: false)]
    }

    /// The properties of which an index would serve the search, each by itself, in the order of their names: those that
    /// are looked up and have none, or else the one that decides the order.
    package var propertiesToIndex: [PropertyName] {
        func unserved(_ lookUp: ColumnLookUp) -> PropertyName? {
            guard case .property(let property) = lookUp.column, property.type != .json, !lookUp.isServed else {
                return nil
            }
            return property.name
        }
        let compared = Set((filter?.lookUps ?? []).compactMap(unserved))
        guard compared.isEmpty else { return Array(compared.sorted { $0.text < $1.text }.prefix(Self.mostAdvice)) }
        return order.first.flatMap { unserved(ColumnLookUp(column: $0.column, kind: .range)) }.map { [$0] } ?? []
    }

    private static let mostAdvice = 8
}
