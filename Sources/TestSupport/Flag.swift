/// A flag that is raised once and may be read by many tasks.
package actor Flag {
    package private(set) var isRaised = false

    package init() {}

    package func raise() { isRaised = true }
}
