/// Something that happens once, and that many watch.
package actor Flag {
    /// Whether it has happened.
    package private(set) var isRaised = false

    package init() {}

    /// Says that it has.
    package func raise() { isRaised = true }
}
