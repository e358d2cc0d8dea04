import CMalloc
import ServiceLifecycle

/// Gives memory back to the system after a rush.
///
/// The allocator keeps what has been freed, for good where something small that lives on lies behind it: an instance
/// that was once flooded would have the size of the flood until its end. Nothing cheap tells when a rush is over, so
/// the free memory is given back each time: that takes 0.1 ms for each MB of a heap of which half is free.
struct MemoryService: Service {
    private static let interval = Duration.seconds(20)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                malloc_trim(0)
            }
        }
    }
}
