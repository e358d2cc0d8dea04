// Which indexes serve a search of users, and which further indexes would.

/// The kind of a comparison by which an index of a column can find users.
///
/// The kinds are in an order: the first one usually finds the fewest users.
package enum LookUp: Int, Sendable, Comparable {
    case equality
    case list
    case absence
    case range

    package static func < (left: LookUp, right: LookUp) -> Bool { left.rawValue < right.rawValue }
}

/// A comparison of one column by which an index of the column can find users.
///
/// The comparison holds for every user that the search finds.
package struct ColumnLookUp: Sendable, Equatable {
    package let column: UserColumn
    package let kind: LookUp

    /// Whether an index for the comparison exists: an index of the users table itself, or of an indexed property.
    package var isServed: Bool {
        switch column {
        case .objectID: true
        // The index is on the address in lower case, which serves neither prefixes nor the order.
        case .property(let property) where property.name == .email && kind <= .list: true
        case .property(let property): property.indexed
        case .created, .updated, .lastLogin, .status, .socialAccount, .locale: false
        }
    }

    /// Whether the index returns the users in the order of their ids.
    fileprivate var ordersByID: Bool {
        switch column {
        case .objectID: true
        case .property(let property): property.indexed && kind == .equality && property.name != .email
        default: false
        }
    }
}

extension UserFilter {
    /// The comparisons of the filter by which indexes can find users.
    ///
    /// If the filter joins comparisons, it joins these only by `and`. Each of them therefore holds for every user that
    /// the filter finds.
    package var lookUps: [ColumnLookUp] {
        switch self {
        case .all(let parts): parts.flatMap(\.lookUps)
        case .any(let parts): parts.count == 1 ? parts[0].lookUps : []
        case .not: []
        case .comparison(_, .different, _): []
        // These compare ids as texts, but the index holds ids.
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

    /// Returns the part of a pattern before the first `%` or `_`, with its escapes.
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
    /// Whether the value is a time.
    ///
    /// A comparison with a time by `=` searches a range, since the time stands for a whole millisecond.
    fileprivate var isMoment: Bool {
        guard case .property(.dateTime) = self else { return false }
        return true
    }
}

/// How indexes serve a search, independently of the table's statistics.
package struct IndexUse: Sendable, Equatable {
    /// Whether PostgreSQL can look up candidates in an index, and then applies the filter only to the candidates.
    package let narrows: Bool
    /// Whether an index returns the users in the requested order; PostgreSQL then sorts nothing.
    package let orders: Bool
}

extension UserQuery {
    /// The comparison for the lookup in an index: of those with an index, the one that finds the fewest users.
    ///
    /// Nil if no comparison of the filter has an index.
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

    /// The order that the client requested; without one, the order of the index in which PostgreSQL looks up the users.
    ///
    /// The index's order is used only if the lookup is for several values. In this order, the first page of many users
    /// costs no more than the first page of few.
    package var orderByIndex: [UserOrder] {
        guard order.isEmpty, distinct.isEmpty, let lookUp = servedLookUp, lookUp.kind > .equality, !lookUp.ordersByID,
            case .property(let property) = lookUp.column, property.indexed
        else { return order }
        return [UserOrder(by: lookUp.column, isDescending: false)]
    }

    /// The properties without an index for which an index would make the search faster, sorted by name.
    ///
    /// They are the properties that the filter compares. If all of these have an index, it is the property by which the
    /// users are sorted.
    package var propertiesToIndex: [PropertyName] {
        func unserved(_ lookUp: ColumnLookUp) -> PropertyName? {
            guard case .property(let property) = lookUp.column, property.type != .json, !lookUp.isServed else {
                return nil
            }
            return property.name
        }
        let compared = Set((filter?.lookUps ?? []).compactMap(unserved))
        guard compared.isEmpty else { return Array(compared.sorted { $0.text < $1.text }.prefix(Self.maxAdvice)) }
        return order.first.flatMap { unserved(ColumnLookUp(column: $0.column, kind: .range)) }.map { [$0] } ?? []
    }

    private static let maxAdvice = 8
}
