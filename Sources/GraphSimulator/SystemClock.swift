import Glibc

extension GraphSimulator {
    /// The clock of the machine.
    public enum SystemClock {
        /// Unix seconds.
        @Sendable
        public static func now() -> Int {
            time(nil)
        }
    }
}
