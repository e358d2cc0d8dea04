/// A first-in, first-out queue that is stored in an array.
///
/// Removed elements are dropped in bulk, so removing the first element costs as little as appending.
struct FIFO<Element> {
    private var storage: [Element?] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }

    var first: Element? { isEmpty ? nil : storage[head] }

    mutating func append(_ element: Element) {
        storage.append(element)
    }

    mutating func prepend(_ element: Element) {
        if head > 0 {
            head -= 1
            storage[head] = element
        } else {
            storage.insert(element, at: 0)
        }
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[head]
        storage[head] = nil
        head += 1
        if isEmpty {
            storage.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func updateFirst<Result>(_ body: (inout Element) -> Result) -> Result? {
        guard !isEmpty, var element = storage[head] else { return nil }
        // Meanwhile the slot holds no reference, so the element has one owner and `body` changes it without a copy.
        storage[head] = nil
        defer { storage[head] = element }
        return body(&element)
    }

    mutating func remove(where matches: (Element) -> Bool) -> Element? {
        for index in head..<storage.count {
            guard let element = storage[index], matches(element) else { continue }
            storage.remove(at: index)
            return element
        }
        return nil
    }

    /// Changes the first element that matches; returns false if no element matches.
    mutating func update(where matches: (Element) -> Bool, _ change: (inout Element) -> Void) -> Bool {
        for index in head..<storage.count {
            guard var element = storage[index], matches(element) else { continue }
            change(&element)
            storage[index] = element
            return true
        }
        return false
    }

    mutating func removeAll() -> [Element] {
        let all = storage[head...].compactMap(\.self)
        storage.removeAll()
        head = 0
        return all
    }
}

extension FIFO: Sendable where Element: Sendable {}
