import CMalloc
import ServiceLifecycle

/// Gives memory back to the system after a rush.
///
/// The allocator keeps freed memory, and keeps it for good below a small piece that lives on: an instance that was once
/// flooded would have the size of the flood until its end.
struct MemoryService: Service {
    private static let interval = Duration.seconds(20)
    /// Less is not worth the walk through all free pieces.
    private static let least = 8 << 20

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Free bytes that the system has back already.
            var returned = 0
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                // Memory that was used again since is no longer with the system.
                let free = Self.free
                returned = min(returned, free)
                guard free - returned >= Self.least else { continue }
                malloc_trim(0)
                returned = Self.free
            }
        }
    }

    /// Bytes that are free, whether the system has them back or not.
    private static var free: Int { Int(clamping: mallinfo2().fordblks) }
}
